"""Who says that the task is solved, where the pose alone does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from serl_controllers.arm import ArmState
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.model import RewardModel
from serl_learner.types import Observation

SOURCES = ("sparse", "classifier")

PROBABILITY = "reward/probability"
"""Among the extras of a step: the probability of its observation's Verdict, float32 []."""


@dataclass(frozen=True)
class RewardConfig:
    """Where the reward comes from, and how long it may take.

    Attributes:
      source: "sparse": the pose threshold of the task; "classifier": the node reward_classifier.
      demonstrations: the classifier says which of them succeed, too; false: the pose does.
      limit: for an estimate on a real arm; later ones count as missing, and a step without one
        is no success [s].
      lockstep_limit: the same in lockstep, where time stands still meanwhile [s].
      retry_period: lockstep: silence after which the observation is published again [s].
    """

    source: str = "sparse"
    demonstrations: bool = True
    limit: float = 0.08
    lockstep_limit: float = 3.0
    retry_period: float = 0.3

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"source '{self.source}' is not {' or '.join(SOURCES)}")
        for name in ("limit", "lockstep_limit", "retry_period"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)} s, expected more than 0")


@dataclass(frozen=True)
class Verdict:
    """What was said of one observation.

    Attributes:
      probability: that it shows the task solved.
      success: it was over the threshold for the required number of frames.
      frames: so many in a row were, up to this one.
    """

    probability: float
    success: bool
    frames: int = 1


class Judge(Protocol):
    """Says of every observation whether the task is solved."""

    def begin(self) -> None:
        """An episode begins: what was seen before does not count."""
        ...

    def judge(self, observation: Observation, state: ArmState) -> Verdict | None:
        """The verdict on the observation of this state; None: there is none in time."""
        ...


class LocalJudge:
    """A reward classifier in this process."""

    def __init__(self, estimator: RewardEstimator) -> None:
        self._estimator = estimator
        self._step = 0

    @property
    def threshold(self) -> float:
        """Of the probability."""
        return self._estimator.threshold

    def adopt(self, model: RewardModel) -> None:
        """Judges by another model of the same kind from now on."""
        self._estimator.adopt(model)

    def begin(self) -> None:
        """Forgets the frames seen."""
        self._step += 1  # a gap

    def judge(self, observation: Observation, state: ArmState) -> Verdict:
        """The verdict; raises UnusableObservation."""
        estimate = self._estimator.judge(state.stamp_ns, self._step, observation)
        self._step += 1
        return Verdict(estimate.probability, estimate.success, estimate.frames)
