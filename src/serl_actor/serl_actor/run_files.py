"""What an actor keeps in its run directory while it lives: its lock, its spill, its journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from serl_actor.journal import Journal
from serl_actor.spill import Codec, Spill
from serl_actor.transition_sender import SenderConfig
from serl_learner.atomic_file import write_file
from serl_learner.disk_space import FULL, DiskSpace
from serl_learner.process_lock import ProcessLock


class RunFiles:
    """Opened for one actor; a second one of the same name and directory is refused.

    Attributes:
      spill: where records go that memory has no room for; None: nowhere.
      journal: where every entry is written down before it is sent; None: nowhere.
    """

    def __init__(
        self, run_dir: str, actor_id: str, journal: str, limits: SenderConfig, codec: Codec
    ) -> None:
        """An empty `run_dir` or `journal` means none.

        Raises:
          AlreadyRunning: the other one lives.
          OSError: a file cannot be made.
        """
        directory = Path(run_dir).expanduser() if run_dir else None
        self._directory = directory
        self._lock: ProcessLock | None = None
        self.spill: Spill | None = None
        if directory is not None:
            name = actor_id.replace("/", "_")
            self._lock = ProcessLock(directory / f"{name}.lock", f"actor {actor_id!r}")
            self.spill = Spill(
                directory / "spill",
                actor_id,
                limits.spill_bytes,
                codec,
                space=DiskSpace(limits.min_free_bytes),
            )
        self.journal = Journal(Path(journal).expanduser()) if journal else None

    def write_result(self, result: Mapping[str, object], wait: Callable[[str], None]) -> None:
        """Writes `result.json`, before it is said: who hears `done` may read it.

        A full disk is waited for with `wait`, which may raise; OSError if it cannot be written for
        another reason.
        """
        if self._directory is None:
            return
        path = self._directory / "result.json"
        content = (json.dumps(result, indent=2) + "\n").encode()
        while True:
            try:
                write_file(path, content)
                return
            except OSError as error:
                if error.errno not in FULL:
                    raise
                wait(f"disk space: {path} is not written: {error.strerror}")

    def close(self) -> None:
        """Removes the spill and gives the lock back."""
        if self.spill is not None:
            self.spill.close()
        if self._lock is not None:
            self._lock.close()
