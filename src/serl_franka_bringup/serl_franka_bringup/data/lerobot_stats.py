"""Statistics of a LeRobot feature: of one episode, and of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)
Statistics = dict[str, np.ndarray]
"""min, max, mean, std, count and q01 .. q99 by name."""


def of_numbers(values: np.ndarray) -> Statistics:
    """Over the frames of [N, n], or of [N]; each [n], or [1]; count [1]."""
    values = values.astype(np.float64).reshape(len(values), -1)
    found = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": np.array([len(values)]),
    }
    levels = np.quantile(values, QUANTILES, axis=0)
    return found | {_name(q): level for q, level in zip(QUANTILES, levels, strict=True)}


class PictureStatistics:
    """Of pictures, per channel, as if their values lay in 0 .. 1; exact, for they have 256."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 256), np.int64)
        self._frames = 0

    def add(self, picture: np.ndarray) -> None:
        """One more, uint8 [H, W, 3]."""
        for channel in range(3):
            values = picture[..., channel].ravel()
            self._counts[channel] += np.bincount(values, minlength=256)
        self._frames += 1

    def merge(self, other: PictureStatistics) -> None:
        """Those of another episode, too."""
        self._counts += other._counts
        self._frames += other._frames

    def values(self) -> Statistics:
        """Each [3, 1, 1]; count [1], of the frames."""
        levels = np.arange(256) / 255.0
        share = self._counts / self._counts.sum(axis=1, keepdims=True)
        mean = share @ levels
        below = np.cumsum(share, axis=1)
        found = {
            "min": levels[(self._counts > 0).argmax(axis=1)],
            "max": levels[255 - (self._counts[:, ::-1] > 0).argmax(axis=1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(share @ levels**2 - mean**2, 0.0)),
        }
        for quantile in QUANTILES:
            found[_name(quantile)] = levels[(below >= quantile - 1e-12).argmax(axis=1)]
        shaped = {name: value.reshape(3, 1, 1) for name, value in found.items()}
        return shaped | {"count": np.array([self._frames])}


def _name(quantile: float) -> str:
    return f"q{round(100 * quantile):02d}"


def plain(statistics: Statistics) -> dict[str, Any]:
    """As JSON and parquet have it."""
    return {name: value.tolist() for name, value in statistics.items()}
