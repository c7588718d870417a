"""Writes only while there is room: a full disk is waited for, not fallen over."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from serl_learner.atomic_file import write_file

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What an OSError says when there is no room."""


class NoSpace(OSError):
    """Nothing was written; the message says what there is and what is needed."""

    def __init__(self, directory: Path, free: int, needed: int) -> None:
        super().__init__(
            errno.ENOSPC,
            f"disk space: {directory} has {free / 2**20:.1f} MB, needs {needed / 2**20:.1f} MB",
        )

    def __str__(self) -> str:
        return str(self.strerror)


def free_bytes(directory: Path) -> int:
    """What may still be written to the file system of `directory`, which need not exist yet."""
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free


class DiskSpace:
    """Writes files as long as `min_free` bytes stay free; less is treated like a full disk."""

    def __init__(
        self,
        min_free: int = 0,
        write: Callable[[Path, bytes], None] = write_file,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        self.min_free = min_free
        self._write = write
        self._free = free

    def require(self, directory: Path, size: int) -> None:
        """Raises NoSpace unless `size` bytes may be written there now."""
        if self._free(directory) < self.min_free + size:
            raise self.shortage(directory, size)

    def shortage(self, directory: Path, size: int) -> NoSpace:
        """What to raise if `size` bytes found no room."""
        return NoSpace(directory, self._free(directory), self.min_free + size)

    def write(self, path: Path, content: bytes) -> None:
        """Writes a file, whole or not at all; on disk when this returns. Raises NoSpace."""
        with self.room(path.parent, len(content)):
            self._write(path, content)

    @contextmanager
    def room(self, directory: Path, size: int) -> Iterator[None]:
        """Around what writes `size` bytes. Raises NoSpace, also for what finds none meanwhile."""
        self.require(directory, size)
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise self.shortage(directory, size) from error
            raise
