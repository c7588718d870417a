"""One half of replay: the ring on the device, and on the host which record is in which slot."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.frame_ring import FrameLayout
from serl_learner.frame_slots import FrameSlots, KeyedFrame
from serl_learner.replay import (
    Ring,
    Transition,
    create_ring,
    insert,
    insert_many,
    relabel,
    transition_bytes,
    turn,
)
from serl_learner.types import ObservationSpec, Record, Relabel

CHUNK = 256
"""Transitions that go to the device in one call while a log is read back."""
FEW = 8
"""Up to so many go one by one: the call for many takes as long as some of these."""


class ReplayHalf:
    """A ring whose transitions can be found again by the record that began them.

    Beside the ring's bytes it takes 12 bytes per slot on the host. Transitions reach the device
    when the ring is asked for, at the latest by the chunk.
    """

    def __init__(
        self,
        spec: ObservationSpec,
        action_dim: int,
        capacity_bytes: int,
        layout: FrameLayout | None = None,
    ) -> None:
        """With a layout of frames, images are stored once each, within the same bytes.

        Raises ValueError if not even one transition fits.
        """
        self._ring: Ring = create_ring(spec, action_dim, capacity_bytes, layout)
        self.capacity = self._ring.capacity
        self.inserted = 0
        self._slot_bytes = transition_bytes(spec, action_dim, layout)
        self._waiting: list[Transition] = []
        self._chunk = min(CHUNK, self.capacity)
        self._sessions: dict[bytes, int] = {}
        self._session = np.zeros(self.capacity, np.int32)  # 1, 2, ...; 0 where none is
        self._seq = np.zeros(self.capacity, np.uint64)
        self._frames: FrameSlots | None = None
        if layout is not None and self._ring.frames is not None:
            frames = len(jax.tree.leaves(self._ring.frames)[0])
            self._frames = FrameSlots(layout, frames, self.capacity, CHUNK)

    @property
    def ring(self) -> Ring:
        """What is held, on the device."""
        self._flush()
        return self._ring

    @property
    def bytes_held(self) -> int:
        """What the transitions in the ring take, and their frames."""
        frames = self._frames.bytes_held if self._frames is not None else 0
        return min(self.inserted, self.capacity) * self._slot_bytes + frames

    @property
    def shapes(self) -> Ring:
        """The ring's tree with shapes and dtypes in place of arrays; from any thread."""
        # Of a donated buffer, too, the shape can be read.
        ring: Ring = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), self._ring)
        return ring

    def insert(
        self,
        first: Record,
        transition: Transition,
        stack: Sequence[KeyedFrame] = (),
        next_stack: Sequence[KeyedFrame] = (),
    ) -> None:
        """Stores a transition in place of the oldest; `first` is the record that began it.

        With images, `stack` and `next_stack` are the T frames of o and of o'.
        """
        slot = self.inserted % self.capacity
        if self._frames is not None:
            transition = {**transition, **self._frames.place(self.inserted, stack, next_stack)}
        self._waiting.append(transition)
        self._session[slot] = self._sessions.setdefault(first.session, len(self._sessions) + 1)
        self._seq[slot] = first.seq
        self.inserted += 1
        crowded = self._frames is not None and self._frames.full
        if len(self._waiting) >= self._chunk or crowded:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if len(self._waiting) <= FEW:
            for transition in self._waiting:
                self._ring = insert(self._ring, transition)
        else:
            missing = self._chunk - len(self._waiting)
            padded = self._waiting + self._waiting[-1:] * missing
            stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
            self._ring = insert_many(self._ring, stacked, np.int32(len(self._waiting)))
        self._waiting.clear()
        if self._frames is not None:
            frames = self._frames.flush(self._ring.frames or {}, FEW)
            size = jnp.asarray(self._frames.whole(self.inserted), jnp.int32)
            self._ring = self._ring.replace(frames=frames, size=size)

    def relabel(self, change: Relabel) -> int:
        """Changes the label of what is held of these records; how many transitions that are."""
        session = self._sessions.get(change.session)
        if session is None:
            return 0
        chosen = self._session == session
        chosen &= (self._seq >= change.first_seq) & (self._seq <= change.last_seq)
        found = int(chosen.sum())
        if found:
            reward, terminated = np.float32(change.reward), np.bool_(change.terminated)
            self._ring = relabel(self.ring, chosen, reward, terminated)
        return found

    def turn_by(self, forgotten: int) -> None:
        """As if `forgotten` transitions had been inserted before the first.

        A ring that is not full cannot have forgotten any and stays as it is.
        """
        if self.inserted < self.capacity or not forgotten:
            return
        steps = forgotten % self.capacity
        self._ring = turn(self.ring, np.int32(steps))
        self._session = np.roll(self._session, steps)
        self._seq = np.roll(self._seq, steps)
        self.inserted += forgotten
        if self._frames is not None:
            self._frames.turn_by(forgotten)
