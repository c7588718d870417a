"""Tells whether a checkpoint is being written, by what its directory holds meanwhile."""

from __future__ import annotations

from pathlib import Path


class WriteWatch:
    """Looks for names that a finished checkpoint does not have."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._left: frozenset[str] = frozenset()

    def under_way(self) -> bool:
        """Something unfinished is there that no killed process has left."""
        return bool(self._unfinished() - self._left)

    def forget(self) -> None:
        """The writer is dead: what is unfinished now will stay so."""
        self._left = self._unfinished()

    def _unfinished(self) -> frozenset[str]:
        if not self._directory.is_dir():
            return frozenset()
        names = (path.name for path in self._directory.iterdir())
        return frozenset(name for name in names if name.endswith(".part") or "tmp" in name)
