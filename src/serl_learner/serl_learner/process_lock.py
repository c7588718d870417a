"""One process at a time: a lock that the kernel takes back when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class AlreadyRunning(RuntimeError):
    """Another process holds the lock; the message names it, `holder` is its id."""

    def __init__(self, what: str, holder: str, path: Path) -> None:
        super().__init__(f"{what} is running already: process {holder} holds {path}")
        self.holder = holder


class ProcessLock:
    """Held from construction to `close`, or to the end of the process."""

    def __init__(self, path: Path, what: str) -> None:
        """`what` is locked, for people. Raises AlreadyRunning."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 20).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise AlreadyRunning(what, holder or "unknown", path) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        """Gives it back."""
        os.close(self._descriptor)
