"""What a classifier is said to get wrong, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from serl_actor.reward_judge import LocalJudge
from serl_franka_bringup import graph
from serl_franka_bringup.reward_check import Tally, check
from serl_franka_bringup.simulation_client import load_setup
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.types import Record

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"


def records(*frames: tuple[bool, float]) -> list[Record]:
    return [
        Record(
            bytes(16),
            step,
            0,
            step,
            {},
            None,
            extras={
                "label/success": np.asarray(solved),
                "reward/probability": np.asarray(probability, np.float32),
            },
        )
        for step, (solved, probability) in enumerate(frames)
    ]


def test_frames_and_episodes_are_counted():
    tally = Tally()
    tally.add(records((False, 0.1), (False, 0.8), (True, 0.9), (True, 0.2)), 0.5, True)
    tally.add(records((False, 0.1), (False, 0.9), (False, 0.7)), 0.5, True)
    tally.add(records((False, 0.1)), 0.5, False)
    figures = tally.figures()
    assert (tally.episodes, tally.negatives, tally.false_positives) == (3, 6, 3)
    assert (tally.positives, tally.true_positives) == (2, 1)
    assert (tally.successes, tally.false_successes) == (2, 1)
    assert figures["false_positive_rate"] == 0.5
    assert figures["false_success_rate"] == pytest.approx(1 / 3)


class Always:
    """Sees success in every frame."""

    model = SimpleNamespace(threshold=0.5, frames=3, model_id="abc")

    def probability(self, observation):
        return 0.9


def blind(**fields):
    arguments = graph.Arguments(seed=1, observation="state")
    return replace(load_setup(str(PCB), arguments, {}), **fields)


def test_a_classifier_that_always_fires_ends_every_episode_of_chance_wrongly():
    tally = check(blind(judge=LocalJudge(RewardEstimator(Always()))), "random", 3, 7)
    # The first frame does not count alone: three in a row do.
    assert (tally.episodes, tally.successes, tally.false_successes) == (3, 3, 3)
    assert (tally.negatives, tally.false_positives, tally.positives) == (9, 9, 0)


def test_without_a_judge_there_is_nothing_to_check():
    with pytest.raises(ValueError, match="nobody judges"):
        check(blind(), "random", 1, 0)
