"""What one program's processes print: one file, bounded, with one older file beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import IO

LIMIT = 16 * 2**20
"""Size at which a log becomes the older one [bytes]: a node keeps at most twice as much."""


class ProcessLog:
    """A file that processes append to, one after the other.

    A process keeps the file open while it is made shorter, so the file is copied and emptied
    instead of renamed; what is printed between the two is lost.
    """

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        self._older = path.with_name(f"{path.name}.1")
        self._limit = limit
        self._begin = 0  # where the newest process' part begins; below 0: in the older file

    def mark_start(self) -> None:
        """A line between two runs of the same directory."""
        with self.path.open("a", encoding="utf-8") as log:
            log.write(f"--- started {time.strftime('%Y-%m-%d %H:%M:%S')}\n")

    def open(self) -> IO[bytes]:
        """For the next process' output."""
        self.rotate()
        log = self.path.open("ab")
        self._begin = log.tell()
        return log

    def rotate(self) -> None:
        """Makes the file the older one if it has reached the limit; drops both if it cannot.

        What a program says is never worth the run: no OSError leaves this.
        """
        with contextlib.suppress(OSError):
            if not self.path.exists() or self.path.stat().st_size < self._limit:
                return
            try:
                shutil.copyfile(self.path, self._older)
            except OSError as error:
                self._drop(error)
            else:
                os.truncate(self.path, 0)
                self._begin -= self._older.stat().st_size

    def _drop(self, error: OSError) -> None:
        """Empties the file for lack of a place for the older one, and says so in it."""
        self._older.unlink(missing_ok=True)  # half a copy, or none
        os.truncate(self.path, 0)
        self._begin = 0
        with self.path.open("a", encoding="utf-8") as log:
            log.write(f"--- what was here is lost: {error}\n")

    def last_lines(self, count: int = 12, limit: int = 8192) -> tuple[str, ...]:
        """The end of what the newest process wrote, at most `count` lines of `limit` bytes."""
        content = _tail(self.path, limit, max(self._begin, 0))
        if self._begin < 0:  # it began in the older file
            content = _tail(self._older, limit - len(content), 0) + content
        return tuple(content.decode(errors="replace").splitlines()[-count:])


def _tail(path: Path, limit: int, begin: int) -> bytes:
    """The last `limit` bytes after the first `begin` ones."""
    with path.open("rb") as stream:
        stream.seek(max(begin, path.stat().st_size - limit))
        return stream.read()
