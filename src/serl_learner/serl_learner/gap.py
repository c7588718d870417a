"""What came beyond a number that is missing, while it is not known whether that will come."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_learner.types import Entry, entry_bytes


@dataclass
class Gap:
    """Entries of one session after a gap, as long as there is one.

    A living actor sends what is missing again within seconds. A recording that is played
    (`ros2 bag play`) has nobody who would: it may begin in the middle of a session, and leave
    episodes out.

    Attributes:
      since: when it opened [s, steady clock]; None: there is none.
      dropped: entries for which there was no room.
    """

    since: float | None = None
    dropped: int = 0
    _entries: dict[int, Entry] = field(default_factory=dict)
    _size: int = 0

    def keep(self, entry: Entry, now: float, room: int) -> None:
        """An entry that came after the gap; not kept beyond `room` bytes."""
        self.since = now if self.since is None else self.since
        if self._size >= room:
            self.dropped += 1
        elif entry.seq not in self._entries:
            self._entries[entry.seq] = entry
            self._size += entry_bytes(entry)

    def close(self) -> list[Entry]:
        """There is none any more; what was kept, by number."""
        entries = [self._entries[seq] for seq in sorted(self._entries)]
        self._entries.clear()
        self.since, self._size, self.dropped = None, 0, 0
        return entries
