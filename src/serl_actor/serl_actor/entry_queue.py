"""All entries that are not durable at the learner: the oldest in memory, the rest on disk."""

from __future__ import annotations

from collections import deque

import numpy as np

from serl_actor.spill import Spill, SpillFull
from serl_learner.types import Entry, Record

OVERHEAD = 1024
"""Memory of an entry beside its arrays [byte]."""

ARRAY_OVERHEAD = 256
"""Memory of an array beside its data, and of its name [byte]."""


def size_of(entry: Entry) -> int:
    """Memory that an entry takes, about; no less than it takes encoded [byte]."""
    if not isinstance(entry, Record):
        return OVERHEAD
    arrays = [*entry.observation.values(), *entry.extras.values()]
    arrays += [] if entry.action is None else [np.asarray(entry.action)]
    return OVERHEAD + sum(ARRAY_OVERHEAD + array.nbytes for array in arrays)


class EntryQueue:
    """First in, first out, with access by number. Not thread-safe.

    Attributes:
      end: number of the entry that comes next.
    """

    def __init__(self, memory_bytes: int, spill: Spill | None) -> None:
        """Beyond `memory_bytes` entries go to `spill`; without one there is no room beyond."""
        self._limit = memory_bytes
        self._spill = spill
        self._memory: deque[Entry] = deque()
        self._bytes = 0
        self._largest = OVERHEAD
        self.end = 0

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def first(self) -> int:
        """Number of the oldest entry kept; `end` if there is none."""
        if self._memory:
            return self._memory[0].seq
        spilled = None if self._spill is None else self._spill.first
        return self.end if spilled is None else spilled

    @property
    def memory_bytes(self) -> int:
        """Taken in memory, about."""
        return self._bytes

    @property
    def disk_bytes(self) -> int:
        """Taken on disk."""
        return 0 if self._spill is None else self._spill.disk_bytes

    def lack(self, count: int, size: int = 0) -> str:
        """Why `count` more entries do not fit, with the numbers; empty if they do.

        `size` is that of the largest, if it is known to be larger than any before [byte].
        """
        each = max(size, self._largest)
        in_memory = 0 if self._spilling else (self._limit - self._bytes) // each
        rest = count - max(in_memory, 0)
        if rest <= 0:
            return ""
        try:
            if self._spill is None:
                raise SpillFull("there is no directory to keep more in")
            self._spill.reserve(rest, each)
        except SpillFull as full:
            return (
                f"{len(self)} records are not durable there, no room for {count} more of up to "
                f"{1e-3 * each:.1f} kB: {1e-6 * self._bytes:.1f} of {1e-6 * self._limit:.1f} MB in "
                f"memory; {full}"
            )
        return ""

    def release(self) -> None:
        """Gives back disk space that was asked for and is not needed."""
        if self._spill is not None:
            self._spill.release()

    def append(self, entry: Entry) -> None:
        """Keeps the next entry.

        Raises:
          SpillFull: it does not fit; `lack` says so before.
          ValueError: it is not the next one.
        """
        if len(self) and entry.seq != self.end:
            raise ValueError(f"entry {entry.seq} does not follow {self.end - 1}")
        size = size_of(entry)
        if not self._spilling and self._bytes + size <= self._limit:
            self._memory.append(entry)
            self._bytes += size
        elif self._spill is None:
            raise SpillFull(f"entry {entry.seq} of {size} bytes does not fit")
        else:
            self._spill.append(entry)
        self._largest = max(self._largest, size)
        self.end = entry.seq + 1

    def get(self, seq: int) -> Entry:
        """An entry that is kept; SpillDamaged if it cannot be read back."""
        if self._memory and seq <= self._memory[-1].seq:
            return self._memory[seq - self._memory[0].seq]
        assert self._spill is not None
        return self._spill.read(seq)

    def drop_below(self, seq: int) -> None:
        """Forgets entries that are durable."""
        while self._memory and self._memory[0].seq < seq:
            self._bytes -= size_of(self._memory.popleft())
        if self._spill is not None:
            self._spill.drop_below(seq)

    @property
    def _spilling(self) -> bool:
        """Entries are on disk: younger ones follow them there."""
        return self._spill is not None and self._spill.first is not None
