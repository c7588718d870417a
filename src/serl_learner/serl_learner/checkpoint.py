"""Complete learner state in a directory `<blocks>/` that is there whole or not at all.

Orbax writes two items: `state`, and `about/about.json` (counters, log position, layout,
configuration, commit). The agent's leaves go in as one vector per dtype, in the order that
`about` lists: saved one by one, the some hundred arrays of an ensemble take seven times as long.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.agents.sac import SACAgent
from serl_learner.disk_space import DiskSpace
from serl_learner.learner import Learner
from serl_learner.types import ObservationSpec

KEPT = 3
"""Checkpoints that are kept."""
_ABOUT = "about.json"
_UNFINISHED = "*.orbax-checkpoint-tmp*"
_SET_ASIDE = ".damaged"
_OLDER = ".older"
_NAME = re.compile(rf"(\d+)({re.escape(_OLDER)})?")
_CHECKSUM = "about_crc32"


class CheckpointError(ValueError):
    """A checkpoint that must not be used; names the file, what was found and expected."""


class DamagedCheckpoint(CheckpointError):
    """It is not all there, or not what was saved: the previous one can take its place."""


@dataclass(frozen=True)
class Snapshot:
    """A learner at one moment, on the host: later updates do not change it."""

    about: dict[str, Any]
    vectors: dict[str, np.ndarray]

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        return sum(vector.nbytes for vector in self.vectors.values())


def take(
    learner: Learner, version: int, positions: Mapping[str, int], commit: str | None = None
) -> Snapshot:
    """Agent (parameters, optimizers, PRNG key), counters, log position, layout, configuration.

    `version` is that of the newest published parameters, `positions` the log's `next_seq` by
    session. Replay is not in it: it is rebuilt from the episodes on disk.
    """
    leaves = {name: np.asarray(leaf) for name, leaf in _leaves(learner.agent).items()}
    vectors = _pack(leaves)
    about = {
        "counters": {
            "online_steps": learner.online_steps,
            "blocks": learner.blocks,
            "cloned": learner.warm_start.cloned,
            "demonstrations": learner.demonstrations,
            "version": version,
        },
        "log": dict(positions),
        "spec": learner.spec,
        "action_dim": learner.action_dim,
        "leaves": {name: _describe(leaf) for name, leaf in leaves.items()},
        "configuration": asdict(learner.config),
        "commit": commit,
        "crc32": _crc(vectors),
    }
    return Snapshot(about, vectors)


def write(directory: Path, snapshot: Snapshot, space: DiskSpace | None = None) -> Path:
    """Writes `directory/<blocks>` and removes all but the newest.

    One of as many blocks is replaced, unless it says the same; until then it is `<blocks>.older`.

    Raises:
      NoSpace: the disk is full; OSError: it cannot be written. What was there is untouched.
    """
    path = directory / str(snapshot.about["counters"]["blocks"])
    if path.exists() and _says(path, snapshot.about):
        return path
    space = space or DiskSpace()
    directory.mkdir(parents=True, exist_ok=True)
    _remove(directory.glob(_UNFINISHED))
    space.require(directory, snapshot.size)
    older = path.with_name(path.name + _OLDER)
    if path.exists():
        _remove([older])
        path.rename(older)
    try:
        _write_items(path, snapshot)
    except Exception as error:  # tensorstore reports a full disk as ValueError
        _remove(directory.glob(_UNFINISHED))
        if older.exists():
            older.rename(path)
        if "No space left" in str(error) or "ENOSPC" in str(error):
            raise space.shortage(directory, snapshot.size) from error
        raise OSError(f"checkpoint {path} was not written: {error}") from error
    _prune(directory)
    return path


def _says(path: Path, about: Mapping[str, Any]) -> bool:
    try:
        return _crc_of_about(read_about(path)) == _crc_of_about(about)
    except DamagedCheckpoint:
        return False


def _write_items(path: Path, snapshot: Snapshot) -> None:
    import orbax.checkpoint as ocp  # takes half a second: not before it is needed

    about = snapshot.about | {_CHECKSUM: _crc_of_about(snapshot.about)}
    items = ocp.args.Composite(
        state=ocp.args.PyTreeSave(snapshot.vectors), about=ocp.args.JsonSave(about)
    )
    with _checkpointer() as checkpointer:
        checkpointer.save(path.absolute(), args=items)


def _checkpointer() -> Any:
    import orbax.checkpoint as ocp

    return ocp.Checkpointer(
        ocp.CompositeCheckpointHandler(
            state=ocp.PyTreeCheckpointHandler(),
            about=ocp.JsonCheckpointHandler(filename=_ABOUT),
        )
    )


def candidates(directory: Path) -> list[Path]:
    """Finished checkpoints, the newest first."""
    if not directory.is_dir():
        return []
    found = [(_NAME.fullmatch(p.name), p) for p in directory.iterdir() if p.is_dir()]
    ages = {path: (int(match[1]), not match[2]) for match, path in found if match}
    return sorted(ages, key=lambda path: ages[path], reverse=True)


def set_aside(path: Path) -> Path:
    """Renames a damaged checkpoint, so that it is not looked at again; its new path."""
    aside = path.with_name(path.name + _SET_ASIDE)
    _remove([aside])
    return path.rename(aside)


def read_about(path: Path) -> dict[str, Any]:
    """All but the agent. Raises DamagedCheckpoint: it is not all there or not what was saved."""
    try:
        about = dict(json.loads((path / "about" / _ABOUT).read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise DamagedCheckpoint(f"{path} is damaged: {error}") from error
    expected, found = about.pop(_CHECKSUM, None), _crc_of_about(about)
    if expected != found:
        raise DamagedCheckpoint(
            f"{path} is damaged: {_CHECKSUM} of {_ABOUT} is {found}, expected {expected}"
        )
    return about


def spec_in(about: Mapping[str, Any]) -> ObservationSpec:
    """The observation layout of the learner that was saved."""
    return {key: (tuple(shape), dtype) for key, (shape, dtype) in about["spec"].items()}


def load_agent(path: Path, shapes: SACAgent) -> SACAgent:
    """The agent of a checkpoint; `shapes` is the tree it must fit.

    Raises:
      DamagedCheckpoint: it is not all there or not what was saved.
      CheckpointError: it is of another layout.
    """
    about = read_about(path)
    _check_leaves(path, about["leaves"], shapes)
    try:
        with _checkpointer() as checkpointer:
            import orbax.checkpoint as ocp

            items = ocp.args.Composite(state=ocp.args.PyTreeRestore())
            vectors = dict(checkpointer.restore(path.absolute(), args=items).state)
    except Exception as error:  # whatever orbax, tensorstore and zstd raise on bad bytes
        raise DamagedCheckpoint(f"{path} is damaged: {_first_line(error)}") from error
    vectors = {name: np.asarray(vector) for name, vector in vectors.items()}
    if _crc(vectors) != about["crc32"]:
        raise DamagedCheckpoint(
            f"{path} is damaged: crc32 {_crc(vectors):#010x}, expected {about['crc32']:#010x}"
        )
    return _unpack(shapes, vectors)


def check_layout(path: Path, about: Mapping[str, Any], spec: ObservationSpec, dim: int) -> None:
    """Raises CheckpointError unless observation and action are these."""
    expected = {f"observation {k}": f"{d}{list(s)}" for k, (s, d) in spec.items()}
    found = {f"observation {k}": f"{d}{list(s)}" for k, (s, d) in spec_in(about).items()}
    _compare(path, {"action_dim": dim, **expected}, {"action_dim": about["action_dim"], **found})


def _check_leaves(path: Path, found: Mapping[str, str], shapes: SACAgent) -> None:
    _compare(path, {name: _describe(leaf) for name, leaf in _leaves(shapes).items()}, found)


def _compare(path: Path, expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for name in [*expected, *found]:
        if expected.get(name) != found.get(name):
            raise CheckpointError(
                f"{path} is of another layout: {name} is {found.get(name, 'missing')},"
                f" expected {expected.get(name, 'nothing')}"
            )


def _leaves(agent: SACAgent) -> dict[str, Any]:
    return {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(agent)
    }


def _pack(leaves: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    kinds = sorted({leaf.dtype.name for leaf in leaves.values()})
    return {
        kind: np.concatenate([x.reshape(-1) for x in leaves.values() if x.dtype.name == kind])
        for kind in kinds
    }


def _unpack(shapes: SACAgent, vectors: Mapping[str, np.ndarray]) -> SACAgent:
    used = dict.fromkeys(vectors, 0)
    leaves = []
    for shape in jax.tree.leaves(shapes):
        kind, size = shape.dtype.name, int(np.prod(shape.shape))
        part = vectors[kind][used[kind] : used[kind] + size]
        leaves.append(jnp.array(part.reshape(shape.shape)))  # a copy: updates donate it
        used[kind] += size
    agent: SACAgent = jax.tree.unflatten(jax.tree.structure(shapes), leaves)
    return agent


def _crc(vectors: Mapping[str, np.ndarray]) -> int:
    value = 0
    for name in sorted(vectors):
        value = zlib.crc32(np.ascontiguousarray(vectors[name]).data, value)
    return value


def _crc_of_about(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


def _describe(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _prune(directory: Path) -> None:
    _remove(directory.glob(f"*{_OLDER}"))
    found = candidates(directory)
    _remove(found[KEPT:])
    if len(found) >= KEPT:
        _remove(directory.glob(f"*{_SET_ASIDE}"))


def _remove(paths: Any) -> None:
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
