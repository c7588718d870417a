"""One recorded episode as a picture: what the cameras saw, and curves of arm and actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from serl_actor.observation import OBJECT
from serl_franka_bringup.picture import picture
from serl_learner.gripper_hand import GRIPPER
from serl_learner.types import Record
from serl_learner.vision.cameras import IMAGE

MOMENTS = 5
"""Pictures of each camera, the first and the last of the episode among them."""
AXES = ("x", "y", "z", "rx", "ry", "rz", "gripper")
_OTHERWISE = {
    OBJECT: ("tool to x", "tool to y", "tool to z", "x", "y", "z"),
    GRIPPER: ("measured", "commanded"),
}
"""Names of the numbers of vectors that are no pose, twist or action."""
_BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.03)}  # of a legend
_HEIGHT, _FRAME = 1.5, 1.9  # of a curve, and of a row of pictures [inch]


def draw(records: Sequence[Record], title: str, out: Path) -> None:
    """Writes a PNG: a row for each camera, then curves over the time since the first record.

    Args:
      records: of one episode, in order, with at least one step.
    """
    cameras = [key for key in sorted(records[0].observation) if key.startswith(IMAGE)]
    vectors = [key for key, v in sorted(records[0].observation.items()) if v.ndim <= 1]
    rows = len(vectors) + 2
    times = 1e-9 * np.array([record.stamp_ns - records[0].stamp_ns for record in records])
    moments = np.linspace(0, len(records) - 1, min(MOMENTS, len(records))).round().astype(int)
    size = (11.0, _FRAME * len(cameras) + _HEIGHT * rows + 0.4)
    heights = [_FRAME] * len(cameras) + [_HEIGHT] * rows
    with picture(out, len(heights), 1, figsize=size, height_ratios=heights, squeeze=False) as axes:
        axes = axes[:, 0]
        axes[0].set_title(title, fontsize=9)
        for axis, key in zip(axes, cameras, strict=False):
            _frames(axis, [records[i].observation[key] for i in moments], times[moments], key)
        for axis, key in zip(axes[len(cameras) :], vectors, strict=False):
            values = np.array([np.atleast_1d(record.observation[key]) for record in records])
            _curves(axis, times, values, key)
        _outcome(axes[-2], axes[-1], records, times)


def _frames(axis: Any, pictures: Sequence[np.ndarray], times: np.ndarray, key: str) -> None:
    gap = 2
    height, width = pictures[0].shape[:2]
    strip = np.full((height, len(pictures) * (width + gap) - gap, 3), 255, np.uint8)
    for column, shown in enumerate(pictures):
        left = column * (width + gap)
        strip[:, left : left + width] = shown
    axis.imshow(strip)
    for column, time in enumerate(times):
        centre = column * (width + gap) + width / 2
        axis.text(centre, 1.05 * height, f"{time:.1f} s", ha="center", va="top", fontsize=8)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_ylabel(key, fontsize=8)


def _curves(axis: Any, times: np.ndarray, values: np.ndarray, name: str) -> None:
    for dim, label in enumerate(names_of(name, values.shape[1])):
        axis.plot(times[: len(values)], values[:, dim], label=label)
    axis.set_ylabel(name, fontsize=8)
    axis.set_xlim(times[0], times[-1])
    axis.legend(fontsize=7, **_BESIDE)


def names_of(key: str, size: int) -> tuple[str, ...]:
    """What each of the numbers of a vector is; counted where nobody knows."""
    if len(_OTHERWISE.get(key, ())) == size:
        return _OTHERWISE[key]
    return AXES[:size] if size in (6, 7) else tuple(map(str, range(size)))


def _outcome(above: Any, below: Any, records: Sequence[Record], times: np.ndarray) -> None:
    """Actions with who chose them, and rewards with the flags of the end."""
    steps = [record for record in records if record.action is not None]
    _curves(above, times, np.array([record.action for record in steps]), "action")
    above.set_xlim(times[0], times[-1])
    above.set_ylim(-1.1, 1.1)
    below.step(times[: len(steps)], [record.reward for record in steps], where="post")
    below.set_ylabel("reward", fontsize=8)
    below.set_xlim(times[0], times[-1])
    end = records[-1]
    flags = [name for name in ("success", "aborted") if getattr(end, name)]
    flags += [name for name in ("terminated", "truncated") if getattr(steps[-1], name)]
    below.set_xlabel(f"time [s]; end: {', '.join(flags) or 'no flag'}")
    drove = below.twinx()
    drove.plot(times[: len(steps)], [int(record.source) for record in steps], ".C1", markersize=3)
    seen = sorted({record.source for record in steps})
    drove.set_yticks([int(source) for source in seen], [source.name.lower() for source in seen])
    drove.set_ylim(min(seen) - 1, max(seen) + 1)
