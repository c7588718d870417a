"""The job's phases, stop rules and result, with a crew that plays from a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from serl_actor.evaluation import wilson_interval
from serl_actor.job import Cancelled, Job, JobConfig, JobFailed, Phase
from serl_actor.policy_source import Snapshot
from serl_actor.rollout import Episode
from serl_actor.training import Training


def episode(success: bool = True, steps: int = 10, aborted: str = "") -> Episode:
    return Episode(success, steps, float(success), 0, 0.1 * steps, aborted)


def helped(success: bool = True) -> Episode:
    """An operator took over twice, for six of its ten steps."""
    return replace(episode(success), intervened=6, interventions=2)


def snapshot(version: int) -> Snapshot:
    return Snapshot(version, 4 * version, None, 0.0, None)  # type: ignore[arg-type]


@dataclass
class FakeCrew:
    """Every training episode makes a newer policy; outcomes come from functions of the count."""

    held: int = 0
    demo_succeeds: Callable[[int], bool] = lambda count: True
    train_succeeds: Callable[[int], bool] = lambda count: True
    helps: Callable[[int], bool] = lambda count: False
    evaluate: Callable[[bool, int], Episode] = lambda deterministic, seed: episode()
    trains: bool = False
    has_policy: bool = True
    memory: Training = field(default_factory=Training)
    cancel_in: int = 10**6
    log: list[tuple[str, object]] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    now: float = 0.0
    version: int = 1
    demos: int = 0
    trained: int = 0

    def clock(self) -> float:
        return self.now

    def say(self, phase, driver="", detail=""):
        if not self.phases or self.phases[-1] is not phase:
            self.phases.append(phase)

    def demonstrations(self):
        return self.held

    def snapshot(self):
        return snapshot(self.version)

    def acted(self):
        return snapshot(self.version)

    def lacks_policy(self):
        return self.held == 0 and not self.has_policy

    def settle(self):
        self.log.append(("settle", None))

    def operator(self):
        return "operator"

    def random(self):
        return "random"

    def learner_trains(self):
        return self.trains

    def policy(self, interventions):
        return "corrected" if interventions else "policy"

    def evaluated(self, snapshot, deterministic):
        return ("evaluated", snapshot.version, deterministic)

    def run(self, driver, seed=None):
        self.cancel_in -= 1
        if self.cancel_in < 0:
            raise Cancelled
        self.now += 6.0
        self.log.append((driver, seed))
        if driver == "operator":
            self.demos += 1
            success = self.demo_succeeds(self.demos - 1)
            self.held += success
            return episode(success)
        if driver == "random":
            return episode(False)
        if driver in ("policy", "corrected"):
            self.trained += 1
            self.version += 1
            made = helped if self.helps(self.trained - 1) else episode
            return made(self.train_succeeds(self.trained - 1))
        return self.evaluate(driver[2], seed)

    def keep_best(self, snapshot):
        self.kept.append(snapshot.version)

    def remembered(self):
        return self.memory

    def progress(self, training):
        self.log.append(("progress", training.env_steps))

    def count(self, driver) -> int:
        return sum(entry[0] == driver for entry in self.log)


def run(crew: FakeCrew, **config) -> dict[str, object]:
    values = {"demonstrations": 0, "max_env_steps": 100, "evaluation_episodes": 2, **config}
    return Job(JobConfig(**values), crew, crew.clock).run()


def test_the_phases_come_in_order():
    crew = FakeCrew()
    result = run(crew, demonstrations=3, warm_up_steps=20)
    assert crew.phases == [
        Phase.STARTING,
        Phase.DEMONSTRATIONS,
        Phase.WARM_UP,
        Phase.TRAINING,
        Phase.EVALUATION,
    ]
    assert (crew.count("operator"), crew.count("random"), crew.count("policy")) == (3, 2, 8)
    assert (result["env_steps"], result["episodes"]) == (100, 10)


def test_only_successful_demonstrations_count():
    crew = FakeCrew(demo_succeeds=lambda count: count % 3 == 2)
    run(crew, demonstrations=2)
    assert crew.count("operator") == 6


def test_demonstrations_that_the_learner_holds_are_not_recorded_again():
    crew = FakeCrew(held=20)
    run(crew, demonstrations=20)
    assert crew.count("operator") == 0
    assert Phase.DEMONSTRATIONS not in crew.phases


def test_an_operator_who_never_succeeds_fails_the_job():
    crew = FakeCrew(demo_succeeds=lambda count: False)
    with pytest.raises(JobFailed, match="0 of 2 demonstrations after 5 attempts"):
        run(crew, demonstrations=2, demonstration_attempts=5)


def test_no_warm_up_once_the_learner_trains():
    crew = FakeCrew(trains=True)
    run(crew, warm_up_steps=50)
    assert crew.count("random") == 0


def test_interventions_are_a_parameter():
    crew = FakeCrew()
    run(crew, interventions=True)
    assert crew.count("corrected") == 10
    assert crew.count("policy") == 0


def test_training_ends_at_max_env_steps():
    crew = FakeCrew()
    assert run(crew, max_env_steps=41)["env_steps"] == 50


def test_training_ends_after_minutes():
    crew = FakeCrew()
    run(crew, max_env_steps=10**6, minutes=1.0)
    assert crew.count("policy") == 10  # 6 s each


def test_training_ends_when_the_last_20_succeed_and_not_before_there_are_20():
    crew = FakeCrew(train_succeeds=lambda count: count >= 5)
    run(crew, max_env_steps=10**6, until=0.9)
    assert crew.count("policy") == 23  # 18 of the last 20: episodes 3..22 hold failures 3 and 4


def test_an_episode_that_was_broken_off_is_not_among_the_last_20():
    training = Training()
    training.add(episode(True))
    training.add(episode(False, steps=3, aborted="stale"))
    assert (training.success, training.env_steps, training.episodes) == (1.0, 13, 2)


def test_warm_up_is_not_among_the_last_20():
    crew = FakeCrew()
    run(crew, max_env_steps=10**6, until=1.0, warm_up_steps=50)
    assert crew.count("policy") == 20


def test_the_best_policy_is_the_newest_with_the_most_successes_of_20():
    """Successes in episodes 5..24 only: the window is full of them after 25 episodes."""
    crew = FakeCrew(train_succeeds=lambda count: 5 <= count < 25)
    result = run(crew, max_env_steps=400)
    assert crew.trained == 40
    assert result["policy_version"] == 26  # version 1 before the first episode, 26 after the 25th
    assert crew.kept[-1] == 26


def test_what_an_operator_helped_to_solve_is_no_success_of_the_policy():
    training = Training()
    for made in (helped(), helped(False), episode(False), episode()):
        training.add(made)
    assert (training.success, training.alone) == (0.5, 0.25)
    assert training.curve == [(10, True), (20, False), (30, False), (40, True)]
    assert training.corrections == [(2, 6), (2, 6), (0, 0), (0, 0)]
    assert Training.from_plain(training.to_plain(), None).to_plain() == training.to_plain()


def test_the_best_policy_is_that_which_needed_no_help():
    training = Training()
    for version in range(1, 21):
        training.add(helped() if version < 12 else episode(version != 15))
        training.improve(snapshot(version))
    assert (training.best.version, training.best_successes) == (20, 8)
    training.add(helped())  # in place of the first that was helped: still eight alone
    training.improve(snapshot(21))
    training.add(helped(False))
    assert (training.best.version, training.best_successes) == (21, 8)


def test_training_does_not_end_by_successes_that_were_helped():
    crew = FakeCrew(helps=lambda count: count < 7)
    result = run(crew, max_env_steps=10**6, until=0.9, interventions=True)
    assert crew.count("corrected") == 25  # 18 of the last 20: 5 and 6 are still among them
    assert result["corrections"] == [(2, 6)] * 7 + [(0, 0)] * 18
    assert "corrections" not in run(FakeCrew(), max_env_steps=20)


def test_one_lucky_first_episode_beats_nothing():
    crew = FakeCrew(train_succeeds=lambda count: count in (0, 30, 31))
    result = run(crew, max_env_steps=320)
    assert result["policy_version"] == 33


def test_evaluation_is_of_the_best_both_ways_from_the_same_starts():
    crew = FakeCrew()
    run(crew, evaluation_episodes=3, evaluation_seed=70)
    evaluations = [entry for entry in crew.log if isinstance(entry[0], tuple)]
    assert [seed for _, seed in evaluations] == [70, 71, 72] * 2
    assert [driver[2] for driver, _ in evaluations] == [True] * 3 + [False] * 3
    assert len({driver[1] for driver, _ in evaluations}) == 1


def test_the_result_says_which_policy_it_is_of():
    crew = FakeCrew(evaluate=lambda deterministic, seed: episode(not deterministic or seed == 70))
    chosen = {"evaluation_episodes": 4, "evaluation_seed": 70}
    result = run(crew, policy="deterministic", **chosen)
    assert (result["policy"], result["success"]) == ("deterministic", 0.25)
    assert (result["success_deterministic"], result["success_sampled"]) == (0.25, 1.0)
    assert result["mean_time_s"] == pytest.approx(1.0)
    assert result["updates"] == 4 * result["policy_version"]
    assert run(FakeCrew(evaluate=crew.evaluate), policy="sampled", **chosen)["success"] == 1.0


def test_an_evaluation_that_the_robot_breaks_off_is_repeated():
    failures = iter([True, False, False, False, False])
    crew = FakeCrew(
        evaluate=lambda deterministic, seed: episode(aborted="stale" if next(failures) else "")
    )
    result = run(crew, evaluation_episodes=2)
    assert result["success_deterministic"] == 1.0


def test_an_evaluation_that_is_always_broken_off_fails_the_job():
    crew = FakeCrew(evaluate=lambda deterministic, seed: episode(False, aborted="stale"))
    with pytest.raises(JobFailed, match=r"broken off 3 times.*stale"):
        run(crew)


def test_kind_evaluate_does_not_train():
    crew = FakeCrew()
    run(crew, kind="evaluate")
    assert crew.phases == [Phase.STARTING, Phase.EVALUATION]
    assert crew.count("policy") == 0


@pytest.mark.parametrize("episodes", range(0, 40, 3))
def test_cancelled_at_any_time(episodes):
    crew = FakeCrew(cancel_in=episodes)
    with pytest.raises(Cancelled):
        run(crew, demonstrations=5, warm_up_steps=50, max_env_steps=200, evaluation_episodes=20)


def test_a_job_that_was_done_is_only_evaluated_again():
    memory = Training(env_steps=120, episodes=12)
    memory.best = snapshot(9)
    crew = FakeCrew(memory=memory)
    result = run(crew)
    assert crew.count("policy") == 0
    assert (result["policy_version"], result["env_steps"], result["episodes"]) == (9, 120, 12)


def test_wilson_interval_by_hand():
    """47 of 50: centre (0.94 + 1.92 / 50) / 1.0768, spread 0.0698."""
    low, high = wilson_interval(47, 50)
    assert (low, high) == (pytest.approx(0.8378, abs=1e-4), pytest.approx(0.9794, abs=1e-4))
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert wilson_interval(50, 50)[1] == pytest.approx(1.0)


def test_without_demonstrations_a_random_episode_gives_the_learner_its_first_record():
    crew = FakeCrew(has_policy=False)
    run_before = crew.run

    def run(driver, seed=None):
        crew.has_policy = True
        return run_before(driver, seed)

    crew.run = run
    config = JobConfig(demonstrations=0, max_env_steps=20, evaluation_episodes=0)

    Job(config, crew, crew.clock).run()

    assert [driver for driver, _ in crew.log if driver in ("random", "policy")] == [
        "random",
        "policy",
    ]
