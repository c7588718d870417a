"""Entries on disk while the learner is away: a queue in files, for one process's lifetime."""

from __future__ import annotations

import logging
import os
import re
import zlib
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from serl_learner.disk_space import DiskSpace
from serl_learner.types import Entry

SEGMENT_BYTES = 16 * 2**20
"""Size of one file; it is removed when its last entry is durable."""

logger = logging.getLogger(__name__)


class SpillFull(Exception):
    """Nothing more fits on disk; the message shows how much there is and the limit."""


class SpillDamaged(Exception):
    """An entry cannot be read back; the message names it and its file."""


@dataclass(frozen=True)
class Codec:
    """How an entry becomes bytes, and back; never pickle."""

    encode: Callable[[Entry], bytes]
    decode: Callable[[bytes], Entry]


@dataclass
class _Segment:
    """One file of consecutive entries; `ends` are their offsets [byte], `checks` their crc32."""

    path: Path
    descriptor: int
    capacity: int
    first_seq: int = 0
    ends: array[int] = field(default_factory=lambda: array("Q"))
    checks: array[int] = field(default_factory=lambda: array("I"))

    @property
    def used(self) -> int:
        return self.ends[-1] if self.ends else 0

    def remove(self) -> None:
        os.close(self.descriptor)
        self.path.unlink(missing_ok=True)


class Spill:
    """Keeps entries of consecutive numbers, oldest first out.

    Disk space is taken a file at a time, before it is needed, so that a full disk shows when room
    is asked for and not in the middle of an entry. What a dead process of the same name left
    behind is removed: its session is over.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        limit_bytes: int,
        codec: Codec,
        segment_bytes: int = SEGMENT_BYTES,
        space: DiskSpace | None = None,
    ) -> None:
        """`limit_bytes` bounds all files together; 0: nothing may be kept on disk.

        `space` says what must stay free: without it the learner could not write what it has.
        """
        self._directory = directory
        self._name = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        self._limit = limit_bytes
        self._codec = codec
        self._segment_bytes = min(segment_bytes, limit_bytes)
        self._space = space or DiskSpace()
        self._segments: deque[_Segment] = deque()
        self._files = 0
        self._end = 0
        self.first: int | None = None
        self._remove_leftovers()

    @property
    def disk_bytes(self) -> int:
        """What the files take [byte]."""
        return sum(segment.capacity for segment in self._segments)

    def describe(self) -> str:
        """How full it is, for people."""
        mega = 1e-6
        return (
            f"{mega * self.disk_bytes:.1f} of {mega * self._limit:.1f} MB on disk "
            f"({self._directory})"
        )

    def reserve(self, count: int, each: int) -> None:
        """Makes sure that `count` more entries of up to `each` bytes fit.

        Raises:
          SpillFull: the limit is reached, or the file system has no room.
        """
        free = sum((s.capacity - s.used) // each for s in self._open())
        while free < count:
            free += self._allocate(each).capacity // each

    def release(self) -> None:
        """Gives back the files that were reserved and not used."""
        while self._segments and not self._segments[-1].ends:
            self._segments.pop().remove()

    def append(self, entry: Entry) -> None:
        """Keeps the next entry; raises SpillFull if there is no room for it."""
        data = self._codec.encode(entry)
        self.reserve(1, len(data))
        segment = next(s for s in self._open() if s.capacity - s.used >= len(data))
        self._write(segment, data)
        if not segment.ends:
            segment.first_seq = entry.seq
        segment.ends.append(segment.used + len(data))
        segment.checks.append(zlib.crc32(data))
        self.first = entry.seq if self.first is None else self.first
        self._end = entry.seq + 1

    def read(self, seq: int) -> Entry:
        """The entry of that number; raises SpillDamaged."""
        segment = next(s for s in reversed(self._segments) if s.ends and s.first_seq <= seq)
        index = seq - segment.first_seq
        begin = segment.ends[index - 1] if index else 0
        size = segment.ends[index] - begin
        data = os.pread(segment.descriptor, size, begin)
        if zlib.crc32(data) != segment.checks[index]:
            raise SpillDamaged(
                f"entry {seq} in {segment.path} is damaged: {len(data)} of {size} bytes, "
                f"crc32 {zlib.crc32(data):#010x}, expected {segment.checks[index]:#010x}"
            )
        return self._codec.decode(data)

    def drop_below(self, seq: int) -> None:
        """Forgets older entries, and removes the files that hold none but these."""
        if self.first is None or seq <= self.first:
            return
        self.first = seq if seq < self._end else None
        while self._segments and (oldest := self._segments[0]).ends:
            if oldest.first_seq + len(oldest.ends) > seq:
                break
            self._segments.popleft().remove()

    def close(self) -> None:
        """Removes all files."""
        while self._segments:
            self._segments.pop().remove()
        self.first = None

    def _open(self) -> list[_Segment]:
        """The file that is being filled, and those that are still empty."""
        used = sum(bool(segment.ends) for segment in self._segments)
        return list(self._segments)[max(used - 1, 0) :]

    def _allocate(self, least: int) -> _Segment:
        """One more file, its space taken."""
        size = max(self._segment_bytes, least)
        if self.disk_bytes + size > self._limit:
            raise SpillFull(f"{self.describe()}, {1e-6 * size:.1f} MB more are over the limit")
        path = self._directory / f"{self._name}-{os.getpid()}-{self._files}.spill"
        try:
            self._space.require(self._directory, size)
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            segment = _Segment(path, descriptor, size)
            try:
                os.posix_fallocate(descriptor, 0, size)
            except OSError:
                segment.remove()
                raise
        except OSError as error:
            raise SpillFull(
                f"{self.describe()}, {1e-6 * size:.1f} MB more: {error.strerror}"
            ) from error
        self._files += 1
        self._segments.append(segment)
        return segment

    def _write(self, segment: _Segment, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                place = segment.used + written
                written += os.pwrite(segment.descriptor, data[written:], place)
        except OSError as error:
            raise SpillFull(f"{segment.path}: {error.strerror}") from error

    def _remove_leftovers(self) -> None:
        own = re.compile(rf"{self._name}-\d+-\d+\.spill")  # not those of the actor `name-b`
        for path in sorted(self._directory.glob(f"{self._name}-*.spill")):
            if not own.fullmatch(path.name):
                continue
            logger.warning(
                "%s removed (%.1f MB): an actor that is gone left it; what it held and the "
                "learner did not have is lost",
                path,
                1e-6 * path.stat().st_size,
            )
            path.unlink(missing_ok=True)
