"""From labelled frames to a model that was judged on episodes it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from serl_learner.frame_encoder import frozen_trunk
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.frames import LabelledFrame, Sizes, counts, split, thin
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.scores import Counts, area, choose_threshold, count, roc, sweep
from serl_learner.rewards.training import fit, score

JUDGED = 1500
"""Held-out frames of each class that are looked at, at most: encoding them takes the time."""


@dataclass(frozen=True, eq=False)
class Study:
    """A model and how it did on the held-out frames.

    probability: of "solved", [N].
    solved: their labels, bool [N].
    confusion: frames by class (rows) and by the class of the highest probability, int [C, C].
    met: the threshold keeps the stated false-positive rate.
    """

    model: RewardModel
    probability: np.ndarray
    solved: np.ndarray
    confusion: np.ndarray
    met: bool

    @property
    def rows(self) -> list[Counts]:
        """Counts at every threshold of the sweep."""
        return sweep(self.probability, self.solved)

    @property
    def chosen(self) -> Counts:
        """Counts at the model's threshold."""
        return count(self.probability, self.solved, self.model.threshold)


def study(
    frames: Sequence[LabelledFrame],
    sizes: Sizes,
    config: ClassifierConfig,
    positives: int = 200,
    negatives: int = 1500,
    seed: int = 0,
) -> Study:
    """Holds out whole episodes, trains on the rest, chooses the threshold, and judges.

    Args:
      frames: of all episodes.
      sizes: of their images, by camera.
      config: of the classifier and its training.
      positives: frames trained on that show the task solved, at most.
      negatives: other frames trained on, at most; of each class, if there are more than two.
      seed: of the split, the initial parameters and the batches.

    Raises:
      BadFrames: a class is missing, in all frames or in one part of them.
      WeightsError, ValueError: as `fit`.
    """
    rng = np.random.default_rng(seed)
    train, judging = split(frames, config.held_out, config.classes, rng)
    solved_class = config.classes - 1
    limits = dict.fromkeys(range(solved_class), negatives) | {solved_class: positives}
    train = thin(train, limits, rng)
    judging = thin(judging, dict.fromkeys(range(config.classes), JUDGED), rng)
    params = fit(train, config, jax.random.PRNGKey(seed))
    scores = score(params, judging, config)
    labels = np.array([frame.label for frame in judging])
    probability, solved = scores[:, -1], labels == solved_class
    threshold, met = choose_threshold(probability, solved, config.false_positive_rate)
    confusion = np.zeros((config.classes, config.classes), int)
    np.add.at(confusion, (labels, scores.argmax(axis=1)), 1)
    report = {
        "trained_on": counts(train, config.classes),
        "judged_on": counts(judging, config.classes),
        "held_out_episodes": len({frame.episode for frame in judging}),
        "area_under_roc": area(*roc(probability, solved)),
        "confusion": confusion.tolist(),
        **_figures(count(probability, solved, threshold)),
        "false_positive_rate_wanted": config.false_positive_rate,
        "false_positive_rate_met": met,
        "seed": seed,
    }
    weights_hash = frozen_trunk(config.encoder).weights_hash
    model = RewardModel(config, dict(sizes), params, weights_hash, threshold, config.frames, report)
    return Study(model, probability, solved, confusion, met)


def _figures(counts: Counts) -> dict[str, Any]:
    return {
        "threshold": counts.threshold,
        "precision": counts.precision,
        "recall": counts.recall,
        "false_positive_rate": counts.false_positive_rate,
    }
