"""Success by a judge: its verdict ends the episode, the pose is logged, a person overrules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import FakeArm, action_to_target, with_steps

from serl_actor.environment import Environment
from serl_actor.episode_index import UnknownSteps
from serl_actor.evaluation import Evaluation, summarise
from serl_actor.recorder import Recorder
from serl_actor.reward_judge import LocalJudge, RewardConfig, Verdict
from serl_actor.robot_client import StaleState
from serl_actor.rollout import Choice, run_episode
from serl_actor.transition_sender import QueueFull
from serl_actor.veto_key import VetoKey
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.types import Relabel, Source

STEPS = 6


@dataclass
class FakeJudge:
    """Gives the verdicts it is told, one for each observation of an episode."""

    verdicts: list[Verdict | None]
    begun: int = 0
    seen: list[int] = field(default_factory=list)

    def begin(self) -> None:
        self.begun += 1
        self.seen.clear()

    def judge(self, observation, state):
        self.seen.append(state.stamp_ns)
        return self.verdicts[len(self.seen) - 1]


class Still:
    """Does nothing, or goes to the target; while it acts, `press` is done to the veto key."""

    def __init__(self, task=None, press=lambda step: None) -> None:
        self.task, self.press, self.step = task, press, 0

    def begin(self) -> None:
        self.step = 0

    def choose(self, observation, state) -> Choice:
        self.step += 1
        self.press(self.step)
        action = np.zeros(6) if self.task is None else action_to_target(self.task, state.tcp_pose)
        return Choice(action, Source.POLICY, 1)


def no(probability: float = 0.1) -> Verdict:
    return Verdict(probability, False)


YES = Verdict(0.9, True)


@pytest.fixture
def run(task):
    def _run(verdicts, driver=None, arm=None, episodes=1, veto=None):
        judge = FakeJudge([*verdicts, *[no()] * STEPS])
        environment = Environment(arm or FakeArm(), with_steps(task, STEPS), judge=judge, veto=veto)
        records: list = []
        recorder = Recorder(bytes(16), "actor", records.append)
        for number in range(episodes):
            episode = run_episode(environment, driver or Still(), recorder, number)
        return episode, records, recorder, environment

    return _run


def test_the_verdict_is_the_reward_and_the_termination(run):
    episode, records, _, _ = run([no(), no(), no(), YES])
    assert [r.reward for r in records] == [0, 0, 1, 0]
    assert [r.terminated for r in records] == [False, False, True, False]
    assert records[-1].last
    assert records[-1].success
    assert (episode.success, episode.steps) == (True, 3)


def test_the_pose_is_no_success_if_the_judge_does_not_say_so(run, task):
    arm = FakeArm(socket=task.target)
    episode, records, _, _ = run([no()] * 20, Still(task), arm)
    assert not episode.success
    assert episode.true_success
    assert all(r.reward == 0.0 for r in records)
    assert records[-2].truncated
    solved = [bool(r.extras["label/success"]) for r in records]
    assert solved == sorted(solved)
    assert not solved[0]
    np.testing.assert_allclose(records[0].extras["reward/probability"], 0.1)


def test_a_false_success_is_counted_as_what_it_is(run, task):
    episode, _, _, _ = run([no(), YES], arm=FakeArm(socket=task.target))
    assert (episode.success, episode.true_success) == (True, False)
    result = summarise({"sampled": Evaluation.of([episode, replace(episode)])}, "sampled")
    assert (result["success_sampled"], result["true_success_sampled"]) == (1.0, 0.0)


def test_where_nobody_knows_the_fixture_there_is_no_truth(run):
    episode, records, _, _ = run([no(), YES])
    assert episode.true_success is None
    assert "label/success" not in records[0].extras


def test_without_an_estimate_there_is_no_success(run):
    episode, records, _, _ = run([no(), None, None])
    assert not episode.success
    assert "reward/probability" not in records[1].extras
    assert "reward/probability" in records[0].extras


def test_every_observation_is_judged_once_and_episodes_begin_anew(run):
    _, records, _, environment = run([no()] * 8, episodes=2)
    assert environment.judge.begun == 2
    assert environment.judge.seen == [r.stamp_ns for r in records[-STEPS - 1 :]]


def test_a_held_veto_prevents_the_success_and_counts_once(run):
    veto = VetoKey()
    veto.hear("keyboard", True)
    episode, records, recorder, _ = run([no(), YES, YES], veto=veto)
    assert not episode.success
    assert all(r.reward == 0.0 and not r.terminated for r in records)
    assert veto.uses == 1
    assert veto.take_back(lambda: recorder.overrule(0)) is None


def test_a_veto_held_against_one_success_is_not_against_that_of_the_next_episode(run):
    veto = VetoKey()
    veto.hear("keyboard", True)
    _, records, _, _ = run([no(), YES], episodes=2, veto=veto)
    assert [r.episode for r in records if r.reward == 1.0] == [1]
    assert veto.uses == 1


def test_a_tap_counts_for_the_step_in_which_it_came_and_for_none_after(run):
    veto = VetoKey()

    def tap(step):
        if step in (1, 3):
            veto.hear("keyboard", True)
            veto.hear("keyboard", False)

    _, records, _, _ = run([no(), no(), no(), YES, YES], Still(press=tap), veto=veto)
    assert [r.reward for r in records] == [0, 0, 0, 1, 0]
    assert veto.uses == 1


def over(frames: int, success: bool = False) -> Verdict:
    return Verdict(0.9, success, frames)


SINCE_THE_SECOND_STEP = [no(), no(), over(1), over(2), over(3, True)]


def test_a_success_is_one_since_the_first_of_the_frames_that_made_it(run):
    episode, entries, _, _ = run(SINCE_THE_SECOND_STEP)
    *records, relabel, final = entries
    assert [r.reward for r in records] == [0, 0, 0, 1]
    assert (relabel.first_seq, relabel.last_seq) == (records[1].seq, records[2].seq)
    assert (relabel.reward, relabel.terminated) == (1.0, True)
    assert (relabel.seq, final.seq, final.success) == (4, 5, True)
    assert (episode.success, episode.total_reward) == (True, 1.0)


def test_a_late_veto_takes_back_all_steps_that_were_rewarded(run):
    _, entries, recorder, _ = run(SINCE_THE_SECOND_STEP)
    taken_back = recorder.overrule(123)
    assert (taken_back.first_seq, taken_back.last_seq) == (entries[1].seq, entries[3].seq)
    assert (taken_back.reward, taken_back.terminated) == (0.0, False)


def test_a_success_does_not_reach_back_over_one_that_was_vetoed(run):
    veto = VetoKey()

    def tap(step):
        if step == 2:
            veto.hear("keyboard", True)
            veto.hear("keyboard", False)

    verdicts = [no(), over(1), over(2, True), over(3, True)]
    _, entries, _, _ = run(verdicts, Still(press=tap), veto=veto)
    assert [r.reward for r in entries] == [0, 0, 1, 0]


def test_a_success_does_not_reach_back_over_the_beginning_of_the_episode(run):
    _, entries, _, _ = run([over(1), over(2, True)])
    assert [r.reward for r in entries] == [1, 0]


def test_of_a_demonstration_that_is_held_back_the_steps_are_relabelled_once_they_left(task):
    judge = FakeJudge(SINCE_THE_SECOND_STEP)
    environment = Environment(FakeArm(), with_steps(task, STEPS), judge=judge)
    entries: list = []
    recorder = Recorder(bytes(16), "actor", entries.append)
    run_episode(environment, Still(), recorder, 0, hold=True)
    assert [entry.seq for entry in entries] == [0, 1, 2, 3, 4, 5]
    assert (entries[4].first_seq, entries[4].last_seq) == (1, 2)


def test_without_room_for_the_relabel_the_last_step_alone_is_rewarded(task):
    judge = FakeJudge(SINCE_THE_SECOND_STEP)
    environment = Environment(FakeArm(), with_steps(task, STEPS), judge=judge)
    entries: list = []

    def sink(entry):
        if isinstance(entry, Relabel) and entry.reward > 0.0:
            raise QueueFull("full")
        entries.append(entry)

    recorder = Recorder(bytes(16), "actor", sink)
    run_episode(environment, Still(), recorder, 0)
    assert [(entry.seq, entry.reward) for entry in entries][-2:] == [(3, 1.0), (4, 0.0)]
    taken_back = recorder.overrule(0)
    assert (taken_back.first_seq, taken_back.last_seq) == (3, 3)


def test_a_late_veto_relabels_the_step_that_was_rewarded(run):
    _, records, recorder, _ = run([no(), no(), YES], episodes=2)
    rewarded = [r for r in records if r.reward == 1.0]
    assert len(rewarded) == 2
    relabel = recorder.overrule(123)
    assert records[-1] is relabel
    assert isinstance(relabel, Relabel)
    assert (relabel.first_seq, relabel.last_seq) == (rewarded[1].seq, rewarded[1].seq)
    assert (relabel.reward, relabel.terminated, relabel.seq) == (0.0, False, relabel.seq)
    assert relabel.seq == records[-2].seq + 1
    with pytest.raises(UnknownSteps, match="no success that is not overruled"):
        recorder.overrule(124)


def test_a_veto_meant_for_the_running_episode_leaves_the_success_before_alone(run):
    _, records, recorder, environment = run([no(), YES])
    environment.judge.verdicts = [no()] * 9
    said = []

    def veto(step):
        with pytest.raises(UnknownSteps) as caught:
            recorder.overrule(0)
        said.append(str(caught.value))

    run_episode(environment, Still(press=lambda step: step == 2 and veto(step)), recorder, 1)
    assert not any(isinstance(r, Relabel) for r in records)
    (message,) = said
    assert "episode 0" in message
    assert "steps 0..0" in message
    assert "service relabel" in message


def test_while_the_arm_is_reset_a_veto_takes_back_the_success_before(run):
    _, records, recorder, environment = run([no(), YES])
    relabels = []
    environment.robot.reset_errors.append(StaleState("slow"))
    with pytest.raises(StaleState):
        run_episode(environment, Still(), recorder, 1)
    early = Still(press=lambda step: step == 1 and relabels.append(recorder.overrule(0)))
    run_episode(environment, early, recorder, 1)
    assert [(r.first_seq, r.last_seq) for r in relabels] == [(records[0].seq, records[0].seq)]


def test_a_veto_without_success_is_refused(run):
    _, _, recorder, _ = run([no()] * 8)
    with pytest.raises(UnknownSteps):
        recorder.overrule(0)


class Flicker:
    """A model that says one thing after the other; two frames over 1/2 are a success."""

    def __init__(self, *values: float) -> None:
        self.model = SimpleNamespace(threshold=0.5, frames=2, model_id="abc")
        self._values = iter(values)

    def probability(self, observation) -> float:
        return next(self._values)


def test_case_10_a_classifier_that_fires_once_is_no_success():
    judge = LocalJudge(RewardEstimator(Flicker(0.1, 0.9, 0.2, 0.8, 0.7)))
    judge.begin()
    state = FakeArm().state
    assert [judge.judge({}, state).success for _ in range(5)] == [False, False, False, False, True]


def test_a_run_of_frames_does_not_reach_over_two_episodes():
    judge = LocalJudge(RewardEstimator(Flicker(0.9, 0.9, 0.9)))
    found = []
    for _ in range(3):
        judge.begin()
        found.append(judge.judge({}, FakeArm().state).success)
    assert not any(found)


@pytest.mark.parametrize(
    ("name", "value"), [("source", "dense"), ("limit", 0.0), ("lockstep_limit", -1.0)]
)
def test_wrong_figures_are_refused_with_their_value(name, value):
    with pytest.raises(ValueError, match=f"{name} .*{value}"):
        RewardConfig(**{name: value})
