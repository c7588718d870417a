"""Where a run keeps everything: one directory per task, seed and configuration.

`runs/<task>/seed<seed>-<hash>/` holds the effective configuration, parameter files, logs,
checkpoints and results; running the same again resumes it. Demonstrations are shared by all
runs of a task that see the same: `runs/<task>/demonstrations/` have no pictures, those of
`demonstrations-image-<hash>/` have some, the hash being that of what is seen and how.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from serl_franka_bringup.source_state import git_state, source_diff
from serl_learner.process_lock import AlreadyRunning, ProcessLock


class RunDirectoryBusy(RuntimeError):
    """Another process runs in this directory."""


def configuration_hash(configuration: Mapping[str, Any]) -> str:
    """Eight hex digits that change with any value of the configuration."""
    text = json.dumps(configuration, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def run_path(root: Path, task: str, seed: int, configuration: Mapping[str, Any]) -> Path:
    """The directory of the run of `task` with this seed and configuration."""
    return root / task / f"seed{seed}-{configuration_hash(configuration)}"


def demonstrations_path(root: Path, task: str, views: Mapping[str, Any]) -> Path:
    """The demonstrations that all runs of a task with the same `views` share.

    `views`: parameters that say what is seen; none: the arm's state alone.
    """
    suffix = f"-image-{configuration_hash(views)}" if views else ""
    return root / task / f"demonstrations{suffix}"


def set_aside(path: Path) -> Path:
    """Renames a directory after the time; its new path. Raises OSError."""
    return path.rename(path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}"))


class RunDirectory:
    """A run's directory, held exclusively from construction to `close`.

    The lock is the kernel's and goes with the process: a killed run leaves nothing to remove.
    """

    def __init__(self, path: Path, fresh: bool = False, part: str = "") -> None:
        """Raises RunDirectoryBusy.

        Args:
          path: of the run.
          fresh: an existing directory is moved aside.
          part: folder in it for what this holder writes; the lock is the whole run's.
        """
        self.path = path / part
        self._lock = _acquire(path)
        if fresh and any(entry.name != "lock" for entry in path.iterdir()):
            set_aside(path)  # the old lock goes along and is released with it
            self._lock.close()
            self._lock = _acquire(path)
        for name in ("logs", "params"):
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets others run here."""
        self._lock.close()

    def save_configuration(self, configuration: Mapping[str, Any], command: list[str]) -> None:
        """Writes the configuration, the command and the state of the sources to config.yaml.

        What differs from the commit goes into a file of its own, which config.yaml names. The
        config.yaml of an earlier start of the same run is kept under its time, if it is another.
        """
        state, diff = git_state(), source_diff()
        if diff:
            digest = hashlib.sha256(diff.encode()).hexdigest()[:8]
            state["diff"] = f"source-{digest}.diff"
            (self.path / state["diff"]).write_text(diff, encoding="utf-8")
        content = {"command": command, "git": state, "configuration": dict(configuration)}
        text, path = yaml.safe_dump(content, sort_keys=False), self.path / "config.yaml"
        if path.exists() and path.read_text(encoding="utf-8") != text:
            written = time.strftime("%Y%m%d-%H%M%S", time.localtime(path.stat().st_mtime))
            path.rename(path.with_name(f"config-{written}.yaml"))
        path.write_text(text, encoding="utf-8")

    def write_parameters(
        self,
        node: str,
        parameters: Mapping[str, Any],
        shares: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Path:
        """Writes one process's parameter file, keyed for any namespace.

        `shares` are the parameters of further nodes in the process.
        """
        path = self.path / "params" / f"{node}.yaml"
        said = {node: parameters, **{name: v for name, v in (shares or {}).items() if v}}
        content = {f"/**/{name}": {"ros__parameters": dict(v)} for name, v in said.items()}
        path.write_text(yaml.safe_dump(content, sort_keys=True), encoding="utf-8")
        return path


def _acquire(path: Path) -> ProcessLock:
    """The directory's lock."""
    try:
        return ProcessLock(path / "lock", f"a run in {path}")
    except AlreadyRunning as error:
        raise RunDirectoryBusy(f"{error}; stop it first") from error
