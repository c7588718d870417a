"""How well probabilities tell solved frames from others: rates, ROC, and a threshold for a rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

SWEEP = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.98, 0.99)
"""Thresholds that are tabulated."""

_CANDIDATES = tuple(round(0.01 * i, 2) for i in range(50, 100))


class BadScores(ValueError):
    """Scores that say nothing; the message says why."""


@dataclass(frozen=True)
class Counts:
    """Frames by what they are and what they were called at a threshold."""

    threshold: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def precision(self) -> float | None:
        """Share of frames called solved that are; None: none was called so."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """Share of solved frames that were called solved; None: there are none."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def false_positive_rate(self) -> float | None:
        """Share of other frames that were called solved; None: there are none."""
        return _share(self.false_positives, self.false_positives + self.true_negatives)


def count(probability: np.ndarray, solved: np.ndarray, threshold: float) -> Counts:
    """Counts of frames with these probabilities [N] and labels bool [N]; `>=` is called solved."""
    called = probability >= threshold
    return Counts(
        threshold,
        int(np.sum(called & solved)),
        int(np.sum(called & ~solved)),
        int(np.sum(~called & solved)),
        int(np.sum(~called & ~solved)),
    )


def sweep(
    probability: np.ndarray, solved: np.ndarray, thresholds: Iterable[float] = SWEEP
) -> list[Counts]:
    """Counts at each threshold."""
    return [count(probability, solved, threshold) for threshold in thresholds]


def roc(probability: np.ndarray, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rate [M] at every threshold that changes them, from (0, 0) to (1, 1).

    Raises:
      BadScores: there are no solved frames, or no others.
    """
    positives, negatives = int(np.sum(solved)), int(np.sum(~solved))
    if not positives or not negatives:
        raise BadScores(f"{positives} positives and {negatives} negatives: no ROC")
    order = np.argsort(-probability, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(probability[order])), probability.size - 1)
    true = np.cumsum(solved[order])[ends] / positives
    false = np.cumsum(~solved[order])[ends] / negatives
    return np.append(0.0, false), np.append(0.0, true)


def area(false: np.ndarray, true: np.ndarray) -> float:
    """Under the ROC: the chance that a solved frame scores above another, ties half."""
    return float(np.trapezoid(true, false))


def choose_threshold(
    probability: np.ndarray, solved: np.ndarray, rate: float
) -> tuple[float, bool]:
    """The threshold, 0.5 or more, that finds most solved frames while it calls at most a share
    `rate` of the others so, the middle one of those that find as many; and whether there is one:
    else it is the highest considered.

    Raises:
      BadScores: there are no frames that are not solved.
    """
    if not np.any(~solved):
        raise BadScores("no negatives: no threshold can be chosen for a false-positive rate")
    rows = sweep(probability, solved, _CANDIDATES)
    kept = [row for row in rows if (row.false_positive_rate or 0.0) <= rate]
    if not kept:
        return _CANDIDATES[-1], False
    most = max(row.true_positives for row in kept)
    best = [row.threshold for row in kept if row.true_positives == most]
    return best[(len(best) - 1) // 2], True


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
