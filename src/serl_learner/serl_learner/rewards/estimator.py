"""Estimates for observations that come one after the other, each judged once."""

from __future__ import annotations

from dataclasses import dataclass

from serl_learner.rewards.debounce import Debounce
from serl_learner.rewards.model import Judgement, RewardModel
from serl_learner.types import Observation


@dataclass(frozen=True)
class Estimate:
    """What is said of one observation, see RewardEstimate.msg."""

    stamp_ns: int
    step: int
    probability: float
    frames: int
    success: bool


class RewardEstimator:
    """A model with its debounce; the same observation again gets the same answer.

    Attributes:
      judged: so many observations, each counted once.
      refused: so many could not be judged.
    """

    def __init__(
        self, judgement: Judgement, threshold: float | None = None, frames: int | None = None
    ) -> None:
        """`threshold`, `frames`: in place of the model's own. Raises ValueError if out of range."""
        model = judgement.model
        self.threshold = model.threshold if threshold is None else threshold
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold {self.threshold} is not in (0, 1)")
        self.model_id = model.model_id
        self._judgement = judgement
        self._debounce = Debounce(model.frames if frames is None else frames)
        self._last: Estimate | None = None
        self.judged = self.refused = 0

    def adopt(self, model: RewardModel) -> None:
        """Judges by these weights from now on; what was counted stays. Raises ValueError: the
        model is of another kind."""
        self._judgement.adopt(model)
        self.model_id = model.model_id

    def known(self, stamp_ns: int, step: int) -> Estimate | None:
        """The last estimate, if it was of the observation with this stamp [ns] and number."""
        last = self._last
        return last if last is not None and (last.stamp_ns, last.step) == (stamp_ns, step) else None

    def judge(self, stamp_ns: int, step: int, observation: Observation) -> Estimate:
        """The estimate for an observation; raises UnusableObservation."""
        try:
            probability = self._judgement.probability(observation)
        except ValueError:
            self.refused += 1
            raise
        success = self._debounce.judge(step, probability >= self.threshold)
        self.judged += 1
        self._last = Estimate(stamp_ns, step, probability, self._debounce.run, success)
        return self._last
