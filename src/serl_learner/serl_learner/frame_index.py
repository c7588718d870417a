"""Which frame is in which slot: the host's side of a ring of frames."""

from __future__ import annotations

from collections.abc import Sequence

FrameKey = tuple[bytes, int]
"""Session and sequence number of the record that a frame belongs to."""


class FrameIndex:
    """Numbers frames 0, 1, 2, ... as they are stored; number n is in slot n % capacity."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.stored = 0
        self._number: dict[FrameKey, int] = {}
        self._keys: list[FrameKey | None] = [None] * capacity

    @property
    def oldest(self) -> int:
        """The least number whose frame is still held."""
        return max(0, self.stored - self.capacity)

    def place(self, keys: Sequence[FrameKey]) -> tuple[list[int], dict[FrameKey, int]]:
        """Numbers under which these frames are held together from now on.

        One that is about to be overwritten gets another place. `keys` are at most `capacity`.

        Returns:
          The number of each, and which of them are to be stored now.
        """
        distinct = list(dict.fromkeys(keys))
        safe = self.stored + len(distinct) - self.capacity
        new = {}
        for key in distinct:
            if self._number.get(key, safe - 1) < safe:
                new[key] = self._next(key)
        return [self._number[key] for key in keys], new

    def _next(self, key: FrameKey) -> int:
        number, slot = self.stored, self.stored % self.capacity
        old = self._keys[slot]
        if old is not None and self._number.get(old) == number - self.capacity:
            del self._number[old]
        self._keys[slot], self._number[key] = key, number
        self.stored += 1
        return number
