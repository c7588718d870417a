"""The frames of one half of replay: where each is, which wait, which transitions lack one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from serl_learner.frame_index import FrameIndex, FrameKey
from serl_learner.frame_ring import Frame, FrameLayout, store_frame, store_frames


@dataclass(frozen=True)
class KeyedFrame:
    """A frame, and whose it is."""

    key: FrameKey
    frame: Frame


class FrameSlots:
    """Hands out slots, and keeps for every transition the oldest frame that it needs."""

    def __init__(self, layout: FrameLayout, frames: int, transitions: int, chunk: int) -> None:
        """Room for so many frames and transitions; about `chunk` frames wait at most."""
        self._index = FrameIndex(frames)
        self._frame_bytes = layout.frame_bytes
        self._chunk = min(chunk, frames)
        self._window = layout.stack + 1
        self._waiting: list[tuple[int, Frame]] = []
        self._needs = np.zeros(transitions, np.int64)  # by slot of the transition
        self._first = 0  # number of the oldest transition that lacks none

    @property
    def full(self) -> bool:
        """What the next transition brings may be too much to wait."""
        return len(self._waiting) + self._window > self._chunk

    @property
    def bytes_held(self) -> int:
        """What the frames take."""
        return min(self._index.stored, self._index.capacity) * self._frame_bytes

    def place(
        self, number: int, stack: Sequence[KeyedFrame], next_stack: Sequence[KeyedFrame]
    ) -> dict[str, np.ndarray]:
        """Slots of the frames of transition `number`; those that are not held wait from now on."""
        both = [*stack, *next_stack]
        numbers, new = self._index.place([item.key for item in both])
        frames = {item.key: item.frame for item in both}
        self._waiting += [(at, frames[key]) for key, at in new.items()]
        self._needs[number % len(self._needs)] = min(numbers)
        slots = np.array(numbers, np.int64) % self._index.capacity
        return {
            "frames": slots[: len(stack)].astype(np.int32),
            "next_frames": slots[len(stack) :].astype(np.int32),
        }

    def flush(self, frames: Frame, few: int) -> Frame:
        """The frames on the device with those that wait; up to `few` go one by one."""
        capacity = self._index.capacity
        if len(self._waiting) <= few:
            for number, frame in self._waiting:
                frames = store_frame(frames, frame, np.int32(number % capacity))
        else:
            slots = np.full(self._chunk, capacity, np.int32)  # beyond the end: not stored
            slots[: len(self._waiting)] = [number % capacity for number, _ in self._waiting]
            missing = self._chunk - len(self._waiting)
            padded = [frame for _, frame in self._waiting] + [self._waiting[-1][1]] * missing
            many = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
            frames = store_frames(frames, many, slots)
        self._waiting.clear()
        return frames

    def whole(self, inserted: int) -> int:
        """Of `inserted` transitions, how many of the newest are held and lack no frame.

        One that lacks none, but is older than one that does, is given up.
        """
        capacity = len(self._needs)
        first = max(self._first, inserted - capacity)
        slots = np.arange(first, inserted) % capacity
        lacking = np.flatnonzero(self._needs[slots] < self._index.oldest)
        self._first = first + (int(lacking[-1]) + 1 if len(lacking) else 0)
        return inserted - self._first

    def turn_by(self, forgotten: int) -> None:
        """As if `forgotten` transitions had been inserted before the first."""
        self._needs = np.roll(self._needs, forgotten)
        self._first += forgotten
