"""One learner at a time writes to a log: a second one is refused before it reads or writes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class LogBusy(OSError):
    """Another process writes to this directory; the message names both."""


class LogLock:
    """Holds a directory from construction to `close`.

    The lock is the kernel's and goes with the process: one that was killed leaves nothing to
    remove.
    """

    def __init__(self, directory: Path) -> None:
        """Makes the directory if need be. Raises LogBusy."""
        directory.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(directory / "learner.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._descriptor, 64).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise LogBusy(
                f"{directory} is written to by another learner (process {holder or 'unknown'});"
                " stop it first"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Lets others write."""
        os.close(self._descriptor)
