"""What the actor does from start to end: demonstrations, warm-up, training, evaluation, done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from serl_actor.evaluation import Evaluation, summarise
from serl_actor.labelling import LabelConfig
from serl_actor.policy_source import Snapshot
from serl_actor.rollout import Cancelled, Driver, Episode
from serl_actor.training import RECENT, Training

__all__ = ["Cancelled", "Crew", "Job", "JobConfig", "JobFailed", "Phase", "Training"]

KINDS = ("train", "record", "evaluate", "label")

EVALUATION_ATTEMPTS = 3
"""How often one evaluation episode may be begun."""


class Phase(Enum):
    """Where the job is."""

    STARTING = "starting"
    DEMONSTRATIONS = "demonstrations"
    WARM_UP = "warm-up"
    LABELLING = "labelling"
    TRAINING = "training"
    EVALUATION = "evaluation"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class JobConfig:
    """What is done, and when it ends.

    Attributes:
      kind: "train" for the whole job, "evaluate" for its last part with what the learner serves,
        "record" for demonstrations alone, "label" to record frames that a reward classifier is
        trained on.
      demonstrations: successful ones the learner shall hold before training.
      keep_failures: episodes of the operator that do not succeed are recorded, too.
      demonstration_attempts: episodes after which a failing operator ends the job.
      warm_up_steps: random steps before the policy acts; none once the learner trains.
      interventions: an operator may take over from the policy during training.
      max_env_steps: training ends after so many online steps.
      minutes: training ends after this wall time; None: no limit.
      until: training ends when so much of the last 20 episodes succeeded without anybody taking
        over; None: no such rule.
      evaluation_episodes: for each of deterministic and sampled.
      evaluation_seed: of the first start pose; the same for every policy that is compared.
      policy: whose result is the job's: "sampled" or "deterministic".
      labels: what is recorded for a reward classifier.
    """

    kind: str = "train"
    demonstrations: int = 20
    demonstration_attempts: int = 200
    keep_failures: bool = False
    warm_up_steps: int = 0
    interventions: bool = False
    max_env_steps: int = 5000
    minutes: float | None = None
    until: float | None = None
    evaluation_episodes: int = 50
    evaluation_seed: int = 10_000
    policy: str = "sampled"
    labels: LabelConfig = field(default_factory=LabelConfig)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r} is none of {', '.join(KINDS)}")
        if self.policy not in ("sampled", "deterministic"):
            raise ValueError(f"policy {self.policy!r} is not 'sampled' or 'deterministic'")
        if self.until is not None and not 0.0 <= self.until <= 1.0:
            raise ValueError(f"until is {self.until}, expected a rate in 0 .. 1")
        for name in ("demonstrations", "warm_up_steps", "max_env_steps", "evaluation_episodes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 0")


class JobFailed(RuntimeError):
    """The job cannot go on; the message says why."""


class Crew(Protocol):
    """What the job commands. All calls block and raise Cancelled when the job is told to stop."""

    def say(self, phase: Phase, driver: str = "", detail: str = "") -> None:
        """Tells people what goes on."""
        ...

    def demonstrations(self) -> int:
        """Successful demonstrations the learner holds; waits until it is there."""
        ...

    def snapshot(self) -> Snapshot:
        """The newest policy; waits for one."""
        ...

    def settle(self) -> None:
        """Waits until the learner has every record."""
        ...

    def operator(self) -> Driver:
        """Demonstrates."""
        ...

    def random(self) -> Driver:
        """Acts by chance."""
        ...

    def acted(self) -> Snapshot:
        """The policy that acted last."""
        ...

    def lacks_policy(self) -> bool:
        """The learner has neither demonstrations nor a policy: it waits for a first record."""
        ...

    def labelled(self, by_chance: bool) -> Driver:
        """The operator, or chance, in episodes whose frames are labelled."""
        ...

    def learner_trains(self) -> bool:
        """The learner has begun to update."""
        ...

    def policy(self, interventions: bool) -> Driver:
        """Acts with the newest policy, sampled; an operator may take over."""
        ...

    def evaluated(self, snapshot: Snapshot, deterministic: bool) -> Driver:
        """Acts with one fixed policy."""
        ...

    def run(self, driver: Driver, seed: int | None = None) -> Episode:
        """One episode."""
        ...

    def keep_best(self, snapshot: Snapshot) -> None:
        """Has the learner keep this version for evaluation."""
        ...

    def remembered(self) -> Training:
        """What an earlier run of the same job came to; a new Training if there was none."""
        ...

    def progress(self, training: Training) -> None:
        """Hears of every finished episode of warm-up and training."""
        ...


class Job:
    """Runs the phases in order and returns the result."""

    def __init__(self, config: JobConfig, crew: Crew, clock: Callable[[], float]) -> None:
        self._config = config
        self._crew = crew
        self._clock = clock
        self.training = crew.remembered()

    def run(self) -> dict[str, object]:
        """The whole job.

        Raises:
          Cancelled, JobFailed.
        """
        began = self._clock()
        self._crew.say(Phase.STARTING)
        if self._config.kind in ("label", "record"):
            result = self._label() if self._config.kind == "label" else self._record()
            return {**result, "wall_s": round(self._clock() - began, 2)}
        if self._config.kind == "train":
            self._demonstrate()
            self._warm_up()
            self._train()
            self._crew.settle()
        snapshot = self.training.best or self._crew.snapshot()
        result = self._evaluate(snapshot)
        return {
            **result,
            "episodes": self.training.episodes,
            "env_steps": self.training.env_steps,
            "curve": self.training.curve,
            **({"corrections": self.training.corrections} if self._config.interventions else {}),
            "updates": snapshot.learner_step,
            "policy_version": snapshot.version,
            "wall_s": round(self._clock() - began, 2),
        }

    def _label(self) -> dict[str, object]:
        """Records labelled frames until there are enough of both kinds."""
        config, training = self._config.labels, self.training
        while training.positives < config.positives or training.negatives < config.negatives:
            have = (
                f"{training.positives} of {config.positives} positives, "
                f"{training.negatives} of {config.negatives} negatives"
            )
            if training.episodes >= config.attempts:
                raise JobFailed(f"{have} after {training.episodes} episodes")
            turn = training.episodes % config.random_every == config.random_every - 1
            by_chance = turn and config.by == "truth"
            self._crew.say(Phase.LABELLING, "random" if by_chance else "operator", have)
            training.label(self._crew.run(self._crew.labelled(by_chance)))
            self._crew.progress(training)
        self._crew.settle()
        return {
            "positives": training.positives,
            "negatives": training.negatives,
            "episodes": training.episodes,
            "env_steps": training.env_steps,
        }

    def _record(self) -> dict[str, object]:
        """Records demonstrations until there are enough."""
        attempts = self._demonstrate()
        self._crew.settle()
        return {"demonstrations": self._crew.demonstrations(), "episodes": attempts}

    def _demonstrate(self) -> int:
        """Until the learner holds enough of them; how many attempts it took."""
        attempts = 0
        wanted = self._config.demonstrations
        while (held := self._crew.demonstrations()) < wanted:
            if attempts >= self._config.demonstration_attempts:
                raise JobFailed(f"{held} of {wanted} demonstrations after {attempts} attempts")
            self._crew.say(Phase.DEMONSTRATIONS, "operator", f"{held} of {wanted} recorded")
            self._crew.run(self._crew.operator())
            self._crew.settle()
            attempts += 1
        return attempts

    def _warm_up(self) -> None:
        """Random episodes; at least one if the learner knows no record to make a policy for."""
        driver = self._crew.random()
        while self._crew.lacks_policy() or (
            self.training.env_steps < self._config.warm_up_steps and not self._crew.learner_trains()
        ):
            self._crew.say(Phase.WARM_UP, "random")
            self.training.warm_up(self._crew.run(driver))
            self._crew.progress(self.training)

    def _train(self) -> None:
        began = self._clock()
        driver = self._crew.policy(self._config.interventions)
        while not self._finished(began):
            self._crew.say(Phase.TRAINING, "policy")
            self.training.add(self._crew.run(driver))
            self._keep_best()
            self._crew.progress(self.training)

    def _finished(self, began: float) -> bool:
        config, training = self._config, self.training
        minutes = (self._clock() - began) / 60.0
        return (
            training.env_steps >= config.max_env_steps
            or (config.minutes is not None and minutes >= config.minutes)
            or (
                config.until is not None
                and len(training.recent) == RECENT
                and training.alone >= config.until
            )
        )

    def _keep_best(self) -> None:
        """The newest policy with the best recent success so far."""
        snapshot = self._crew.acted()
        if self.training.improve(snapshot):
            self._crew.keep_best(snapshot)

    def _evaluate(self, snapshot: Snapshot) -> dict[str, object]:
        evaluations: dict[str, Evaluation] = {}
        for name in ("deterministic", "sampled"):
            driver = self._crew.evaluated(snapshot, name == "deterministic")
            episodes: list[Episode] = []
            for index in range(self._config.evaluation_episodes):
                solved = sum(e.success for e in episodes)
                self._crew.say(Phase.EVALUATION, f"{name} policy", f"{solved} of {index} solved")
                episodes.append(self._evaluate_one(driver, self._config.evaluation_seed + index))
            evaluations[name] = Evaluation.of(episodes)
        return summarise(evaluations, self._config.policy)

    def _evaluate_one(self, driver: Driver, seed: int) -> Episode:
        """One episode; one that the robot broke off says nothing of the policy and is repeated."""
        for _ in range(EVALUATION_ATTEMPTS):
            episode = self._crew.run(driver, seed)
            if not episode.aborted:
                return episode
        raise JobFailed(
            f"the evaluation from seed {seed} was broken off {EVALUATION_ATTEMPTS} times, at last: "
            f"{episode.aborted}"
        )
