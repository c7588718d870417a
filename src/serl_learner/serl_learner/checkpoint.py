"""Complete learner state in one file that is there whole or not at all.

A line of JSON (what it is, layout, counters, configuration, commit), then the agent's leaves as
msgpack. One file, not orbax: its directory takes ten times as long to write for these small
agents, and a learner that is asked to stop has two seconds.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import flax.serialization
import jax
import jax.numpy as jnp

from serl_learner.atomic_file import write_file
from serl_learner.learner import Learner
from serl_learner.types import ObservationSpec

_MAGIC = b"serl-checkpoint-1\n"


class CheckpointError(ValueError):
    """A checkpoint that must not be used; names the file, what was found and expected."""


def save(path: Path, learner: Learner, version: int, commit: str | None = None) -> None:
    """Writes agent (parameters, optimizers, PRNG key), counters, layout and configuration.

    `version` is that of the newest published parameters. Replay is not in it: it is rebuilt from
    the episodes on disk.
    """
    leaves = _leaves(learner)
    data = flax.serialization.msgpack_serialize({k: jax.device_get(v) for k, v in leaves.items()})
    header = {
        "counters": {
            "online_steps": learner.online_steps,
            "blocks": learner.blocks,
            "demonstrations": learner.demonstrations,
            "version": version,
        },
        "spec": learner.spec,
        "action_dim": learner.action_dim,
        "leaves": {name: _describe(leaf) for name, leaf in leaves.items()},
        "configuration": asdict(learner.config),
        "commit": commit,
        "crc32": zlib.crc32(data),
    }
    write_file(path, _MAGIC + json.dumps(header).encode() + b"\n" + data)


def read_header(path: Path) -> dict[str, Any]:
    """All but the agent; CheckpointError if the file is no checkpoint."""
    with open(path, "rb") as stream:
        magic = stream.read(len(_MAGIC))
        if magic != _MAGIC:
            raise CheckpointError(f"{path} is no checkpoint: begins {magic!r}, expected {_MAGIC!r}")
        try:
            header = json.loads(stream.readline())
        except ValueError as error:
            raise CheckpointError(f"{path} has a damaged header: {error}") from error
    return dict(header)


def spec_in(header: dict[str, Any]) -> ObservationSpec:
    """The observation layout of the learner that was saved."""
    return {key: (tuple(shape), dtype) for key, (shape, dtype) in header["spec"].items()}


def load(path: Path, learner: Learner) -> int:
    """Puts the saved state into `learner`; the version of the newest parameters then.

    Raises:
      CheckpointError: damaged, or of another layout; the learner is as it was.
    """
    header = read_header(path)
    _check_layout(path, header, learner)
    data = path.read_bytes().partition(b"\n")[2].partition(b"\n")[2]
    if zlib.crc32(data) != header["crc32"]:
        raise CheckpointError(
            f"{path} is damaged: crc32 {zlib.crc32(data):#010x}, expected {header['crc32']:#010x}"
        )
    saved = flax.serialization.msgpack_restore(data)
    structure = jax.tree.structure(learner.agent)
    learner.agent = jax.tree.unflatten(
        structure, [jnp.asarray(saved[name]) for name in _leaves(learner)]
    )
    counters = header["counters"]
    learner.online_steps = counters["online_steps"]
    learner.blocks = counters["blocks"]
    learner.demonstrations = counters["demonstrations"]
    return int(counters["version"])


def _check_layout(path: Path, header: dict[str, Any], learner: Learner) -> None:
    expected: dict[str, Any] = {
        "action_dim": learner.action_dim,
        **{f"observation {k}": f"{d}{list(s)}" for k, (s, d) in learner.spec.items()},
        **{name: _describe(leaf) for name, leaf in _leaves(learner).items()},
    }
    found = {
        "action_dim": header["action_dim"],
        **{f"observation {k}": f"{d}{list(s)}" for k, (s, d) in spec_in(header).items()},
        **header["leaves"],
    }
    for name in expected | found:
        if expected.get(name) != found.get(name):
            raise CheckpointError(
                f"{path} is of another layout: {name} is {found.get(name, 'missing')},"
                f" expected {expected.get(name, 'nothing')}"
            )


def _leaves(learner: Learner) -> dict[str, Any]:
    return {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(learner.agent)
    }


def _describe(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


@cache
def source_commit() -> str | None:
    """Commit of the sources that run, "+" if they differ from it; None outside a checkout."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).resolve().parent), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=5
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None
