"""One learner at a time writes to a log: a second one is refused before it reads or writes."""

from __future__ import annotations

from pathlib import Path

from serl_learner.process_lock import AlreadyRunning, ProcessLock


class LogBusy(OSError):
    """Another process writes to this directory; the message names both."""


class LogLock:
    """Holds a directory from construction to `close`, or to the end of the process."""

    def __init__(self, directory: Path) -> None:
        """Makes the directory if need be. Raises LogBusy."""
        try:
            self._lock = ProcessLock(directory / "learner.lock", f"a learner of {directory}")
        except AlreadyRunning as error:
            raise LogBusy(
                f"{directory} is written to by another learner (process {error.holder});"
                " stop it first"
            ) from error

    def close(self) -> None:
        """Lets others write."""
        self._lock.close()
