"""Checkpoints: the whole agent with optimizers and PRNG key, counters, configuration, source."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import flax.serialization
import numpy as np

from serl_learner import sealed_file
from serl_learner.tree_layout import differences, layout_of, named_leaves, with_leaves

if TYPE_CHECKING:
    from serl_learner.learner import LearnerConfig

Agent = TypeVar("Agent")

FORMAT = 1
SUFFIX = ".checkpoint"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: corrupt, or of another layout."""


def save(path: Path, agent: Any, config: LearnerConfig, notes: dict[str, Any]) -> None:
    """Writes everything that training goes on from, all or nothing."""
    leaves = {name: np.asarray(leaf) for name, leaf in named_leaves(agent).items()}
    header = {
        "kind": "checkpoint",
        "format": FORMAT,
        "layout": layout_of(agent),
        "config": asdict(config),
        "git": git_hash(),
        "notes": notes,
    }
    sealed_file.write(path, header, flax.serialization.msgpack_serialize(leaves))


def load(path: Path, template: Agent) -> tuple[Agent, dict[str, Any]]:
    """The agent in `path`, shaped as `template`, and the notes.

    Raises:
      CheckpointError: corrupt, of another format or of another layout.
    """
    try:
        header, payload = sealed_file.read(path)
    except (OSError, sealed_file.CorruptFile) as error:
        raise CheckpointError(f"checkpoint {path} cannot be read: {error}") from error
    if header.get("kind") != "checkpoint" or header.get("format") != FORMAT:
        found = f"{header.get('kind')} of format {header.get('format')}"
        raise CheckpointError(f"{path} is a {found}, expected a checkpoint of format {FORMAT}")
    wrong = differences(layout_of(template), header["layout"])
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise CheckpointError(f"checkpoint {path} has another layout: {'; '.join(wrong[:3])}{more}")
    leaves = flax.serialization.msgpack_restore(payload)
    return with_leaves(template, leaves), header["notes"]


def newest(directory: Path) -> Path | None:
    """The checkpoint saved last, or None."""
    return max(directory.glob(f"*{SUFFIX}"), default=None, key=lambda path: path.name)


def path_for(directory: Path, updates: int) -> Path:
    """Where the checkpoint after `updates` critic updates goes; names sort by age."""
    return directory / f"{updates:010d}{SUFFIX}"


def remove_old(directory: Path, keep: int) -> None:
    """Removes all but the newest `keep` checkpoints."""
    for path in sorted(directory.glob(f"*{SUFFIX}"))[:-keep]:
        path.unlink()


@cache
def git_hash() -> str:
    """Commit of the sources, "-dirty" if they differ from it; empty outside a checkout."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
