"""Observations that come one after the other are judged once each, whatever is repeated or lost."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.model import UnusableObservation


class Brightness:
    """Takes the mean of an image for the probability, in percent."""

    def __init__(self, threshold=0.5, frames=2):
        self.model = SimpleNamespace(threshold=threshold, frames=frames, model_id="abc")
        self.asked = 0

    def probability(self, observation):
        self.asked += 1
        if "image/a" not in observation:
            raise UnusableObservation("camera 'a' is missing; there are: none")
        return float(observation["image/a"].mean() / 100.0)


def seen(percent: int) -> dict[str, np.ndarray]:
    return {"image/a": np.full((2, 2, 3), percent, np.uint8)}


def test_success_after_so_many_frames_in_a_row():
    estimator = RewardEstimator(Brightness())
    judged = [estimator.judge(10 * n, n, seen(p)) for n, p in enumerate((10, 90, 20, 60, 50))]
    assert [e.success for e in judged] == [False, False, False, False, True]
    assert [e.probability for e in judged] == pytest.approx([0.1, 0.9, 0.2, 0.6, 0.5])
    assert (judged[3].stamp_ns, judged[3].step) == (30, 3)
    assert estimator.judged == 5


def test_the_same_observation_again_is_known_and_another_is_not():
    estimator = RewardEstimator(Brightness())
    first = estimator.judge(10, 1, seen(90))
    assert estimator.known(10, 1) is first
    assert estimator.known(11, 1) is None
    assert estimator.known(10, 2) is None


def test_a_gap_in_the_numbers_begins_anew():
    estimator = RewardEstimator(Brightness())
    estimator.judge(10, 1, seen(90))
    assert not estimator.judge(30, 3, seen(90)).success


def test_what_cannot_be_judged_is_counted_and_breaks_the_run():
    estimator = RewardEstimator(Brightness())
    estimator.judge(10, 1, seen(90))
    with pytest.raises(UnusableObservation, match="camera 'a' is missing"):
        estimator.judge(20, 2, {})
    assert (estimator.refused, estimator.judged) == (1, 1)
    assert not estimator.judge(30, 3, seen(90)).success


def test_threshold_and_frames_may_be_others_than_the_models():
    estimator = RewardEstimator(Brightness(), threshold=0.95, frames=1)
    assert not estimator.judge(10, 1, seen(90)).success
    assert estimator.judge(20, 2, seen(96)).success
    assert estimator.threshold == 0.95
    with pytest.raises(ValueError, match=r"threshold 1.5 is not in \(0, 1\)"):
        RewardEstimator(Brightness(), threshold=1.5)
    with pytest.raises(ValueError, match="frames 0 is below 1"):
        RewardEstimator(Brightness(), frames=0)
