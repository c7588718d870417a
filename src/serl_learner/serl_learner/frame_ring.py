"""Frames of replay on the device: each is stored once, and transitions say where theirs are.

A frame is what one record brings of its images: for every camera the uint8 image, or the float16
feature maps of K crops of it. A transition holds the slots of the T frames of its observation and
of the T frames of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import FEATURES, cameras

FRAMES_PER_TRANSITION = 1.125
"""Frames for which there is room: an episode of n transitions has n + 1 of them."""

Frame = dict[str, Any]
"""`image/<camera>` uint8 [H, W, 3] or `features/<camera>` float16 [K, h, w, c], by camera."""


@dataclass(frozen=True)
class FrameLayout:
    """What is stored of a record's images: shape and dtype by key, and how many make a stack."""

    spec: ObservationSpec
    stack: int = 1

    @property
    def frame_bytes(self) -> int:
        """Of one frame, all cameras together."""
        return sum(leaf.nbytes for leaf in empty_frame(self).values())

    def capacities(self, transition_bytes: int, capacity_bytes: int) -> tuple[int, int]:
        """Transitions and frames for which there is room; (0, 0) if not even for one."""
        room = capacity_bytes - 2 * (self.stack + 1) * self.frame_bytes
        each = transition_bytes + FRAMES_PER_TRANSITION * self.frame_bytes
        transitions = int(room // each)
        if transitions < 1:
            return 0, 0
        return transitions, (capacity_bytes - transitions * transition_bytes) // self.frame_bytes


def empty_frame(layout: FrameLayout) -> Frame:
    """Zeros of its shapes."""
    return {key: np.zeros(shape, dtype) for key, (shape, dtype) in sorted(layout.spec.items())}


def create_frames(layout: FrameLayout, capacity: int) -> Frame:
    """Room for `capacity` frames: [capacity, ...] for every key."""
    template = empty_frame(layout)
    return {k: jnp.zeros((capacity, *leaf.shape), leaf.dtype) for k, leaf in template.items()}


@partial(jax.jit, donate_argnums=0)
def store_frame(frames: Frame, frame: Frame, slot: jax.Array) -> Frame:
    """The frames with one in place of that in `slot`; the old ones' buffers are reused."""
    return {key: leaf.at[slot].set(frame[key]) for key, leaf in frames.items()}


@partial(jax.jit, donate_argnums=0)
def store_frames(frames: Frame, many: Frame, slots: jax.Array) -> Frame:
    """As `store_frame` for [N, ...] and slots [N], all different; a slot beyond the end: none."""
    return {key: leaf.at[slots].set(many[key], mode="drop") for key, leaf in frames.items()}


def look_up(frames: Frame, slots: jax.Array, key: jax.Array | None) -> Frame:
    """The stacks in these slots.

    Args:
      slots: [B, T].
      key: of the choice among the cached crops: for every stack and camera one, the same for
        the T frames of a stack (D16). None: the plain frames.

    Returns:
      `features/<camera>` float16 [B, T, h, w, c], or `image/<camera>` uint8 [B, T, H, W, 3].
    """
    cached = cameras(frames, FEATURES)
    if not cached:
        return {name: leaf[slots] for name, leaf in frames.items()}
    if key is None:
        return {name: leaf[slots, 0] for name, leaf in frames.items()}
    found = {}
    for camera, camera_key in zip(cached, jax.random.split(key, len(cached)), strict=True):
        leaf = frames[FEATURES + camera]
        crop = jax.random.randint(camera_key, (len(slots), 1), 0, leaf.shape[1])
        found[FEATURES + camera] = leaf[slots, crop]
    return found
