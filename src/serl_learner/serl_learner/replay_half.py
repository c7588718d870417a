"""One half of replay: the ring on the device, and on the host which record is in which slot."""

from __future__ import annotations

import numpy as np

from serl_learner.replay import (
    Ring,
    Transition,
    create_ring,
    insert,
    relabel,
    transition_bytes,
    turn,
)
from serl_learner.types import ObservationSpec, Record, Relabel


class ReplayHalf:
    """A ring whose transitions can be found again by the record that began them.

    Beside the ring's bytes it takes 12 bytes per slot on the host.
    """

    def __init__(self, spec: ObservationSpec, action_dim: int, capacity_bytes: int) -> None:
        """Raises ValueError if not even one transition fits."""
        self.ring: Ring = create_ring(spec, action_dim, capacity_bytes)
        self.inserted = 0
        self._slot_bytes = transition_bytes(spec, action_dim)
        self._sessions: dict[bytes, int] = {}
        self._session = np.zeros(self.ring.capacity, np.int32)  # 1, 2, ...; 0 where none is
        self._seq = np.zeros(self.ring.capacity, np.uint64)

    @property
    def bytes_held(self) -> int:
        """What the transitions in the ring take."""
        return min(self.inserted, self.ring.capacity) * self._slot_bytes

    def insert(self, first: Record, transition: Transition) -> None:
        """Stores a transition in place of the oldest; `first` is the record that began it."""
        slot = self.inserted % self.ring.capacity
        self.ring = insert(self.ring, transition)
        self._session[slot] = self._sessions.setdefault(first.session, len(self._sessions) + 1)
        self._seq[slot] = first.seq
        self.inserted += 1

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
            self.ring = relabel(self.ring, chosen, reward, terminated)
        return found

    def turn_by(self, forgotten: int) -> None:
        """As if `forgotten` transitions had been inserted before the first.

        A ring that is not full cannot have forgotten any and stays as it is.
        """
        if self.inserted < self.ring.capacity or not forgotten:
            return
        steps = forgotten % self.ring.capacity
        self.ring = turn(self.ring, np.int32(steps))
        self._session = np.roll(self._session, steps)
        self._seq = np.roll(self._seq, steps)
        self.inserted += forgotten
