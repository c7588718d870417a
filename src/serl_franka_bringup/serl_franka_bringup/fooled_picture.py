"""Frames that fooled a reward classifier, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from serl_franka_bringup.picture import picture
from serl_learner.rewards.frames import LabelledFrame
from serl_learner.vision.cameras import IMAGE, cameras

COLUMNS = 6


def worst(frames: Sequence[tuple[float, LabelledFrame]]) -> list[tuple[float, LabelledFrame]]:
    """Of each episode the frame of the highest probability, COLUMNS of them at most."""
    best: dict[tuple[bytes, int], tuple[float, LabelledFrame]] = {}
    for probability, frame in frames:
        known = best.get(frame.episode)
        if known is None or probability > known[0]:
            best[frame.episode] = probability, frame
    return sorted(best.values(), key=lambda found: -found[0])[:COLUMNS]


def draw(frames: Sequence[tuple[float, LabelledFrame]], out: Path) -> None:
    """Writes a PNG: a camera in each row, a frame in each column, its probability above.

    `frames`: at least one, each with its probability.
    """
    shown = worst(frames)
    names = cameras(shown[0][1].record.observation)
    size = (1.6 * len(shown) + 0.4, 1.7 * len(names))
    with picture(out, len(names), len(shown), figsize=size, squeeze=False) as axes:
        for column, (probability, frame) in enumerate(shown):
            for row, name in enumerate(names):
                one = axes[row, column]
                one.imshow(np.asarray(frame.record.observation[IMAGE + name]))
                one.set(xticks=[], yticks=[])
                one.set_ylabel(name if column == 0 else "")
            axes[0, column].set_title(f"{probability:.3f}", fontsize=9)
