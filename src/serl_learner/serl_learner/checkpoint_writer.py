"""Writes checkpoints in a thread of its own: training does not wait for the disk."""

from __future__ import annotations

import threading
from pathlib import Path

from serl_learner import checkpoint
from serl_learner.checkpoint import Snapshot
from serl_learner.disk_space import DiskSpace


class CheckpointWriter:
    """At most one write at a time; one that fails is told, and the previous checkpoint stays."""

    def __init__(self, directory: Path, space: DiskSpace) -> None:
        self.directory = directory
        self._space = space
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    @property
    def busy(self) -> bool:
        """A write is under way."""
        return self._thread is not None and self._thread.is_alive()

    def submit(self, snapshot: Snapshot) -> None:
        """Begins to write; waits for the write before, if that is under way."""
        self.wait()
        self._thread = threading.Thread(target=self._write, args=(snapshot,), name="checkpoint")
        self._thread.daemon = True
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the write under way [s]; whether there is none now."""
        if self._thread is not None:
            self._thread.join(timeout)
        return not self.busy

    def write(self, snapshot: Snapshot) -> Path:
        """Writes now. Raises OSError; the previous checkpoint stays then."""
        self.wait()
        return checkpoint.write(self.directory, snapshot, self._space)

    def take_failure(self) -> OSError | None:
        """Why the last write in the background failed; each failure once."""
        failure, self._failure = self._failure, None
        return failure

    def _write(self, snapshot: Snapshot) -> None:
        try:
            checkpoint.write(self.directory, snapshot, self._space)
        except OSError as error:
            self._failure = error
