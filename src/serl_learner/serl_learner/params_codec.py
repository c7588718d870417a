"""Policy parameters as bytes: what the learner publishes, an actor swaps in, and evaluation loads.

msgpack of NumPy arrays as flax writes it: no pickle, so nothing received is ever executed.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import flax.serialization
import jax
import numpy as np

from serl_learner.atomic_file import write_file

CODEC = "flax-msgpack"
_MAGIC = b"serl-policy-1\n"


class ParamsError(ValueError):
    """Parameters that must not be used; the message names what was found and expected."""


class LayoutMismatch(ParamsError):
    """They belong to another network, observation or encoding."""


class CorruptParams(ParamsError):
    """Their bytes are damaged."""


@dataclass(frozen=True)
class EncodedParams:
    """One published version; the fields of PolicyParams.msg.

    Attributes:
      version: 1, 2, 3, ...; only ever grows.
      learner_step: critic updates done when it was taken.
      layout_hash: of `Policy`: tree, shapes, dtypes and what shapes the function.
      codec: encoding of `data`.
      crc32: of `data`.
    """

    version: int
    learner_step: int
    layout_hash: str
    codec: str
    crc32: int
    data: bytes


def encode(params: Any, version: int, learner_step: int, layout_hash: str) -> EncodedParams:
    """Copies a parameter tree off the device into bytes."""
    data = flax.serialization.to_bytes(jax.device_get(params))
    return EncodedParams(version, learner_step, layout_hash, CODEC, zlib.crc32(data), data)


def decode(encoded: EncodedParams, template: Any, layout_hash: str) -> Any:
    """The parameter tree, of the structure of `template`, leaves NumPy arrays.

    Raises:
      LayoutMismatch: layout hash, codec, or a leaf's shape or dtype is another.
      CorruptParams: the checksum is wrong, the bytes are no such tree, or a value is not finite.
    """
    if encoded.codec != CODEC:
        raise LayoutMismatch(f"codec is {encoded.codec!r}, expected {CODEC!r}")
    if encoded.layout_hash != layout_hash:
        raise LayoutMismatch(
            f"parameters {encoded.version} have layout {encoded.layout_hash!r},"
            f" expected {layout_hash!r}: learner and actor differ in network or observation"
        )
    check_crc(encoded)
    try:
        params = flax.serialization.from_bytes(template, encoded.data)
    except Exception as error:  # whatever msgpack and flax raise on bytes that are no such tree
        raise CorruptParams(f"parameters {encoded.version} are no such tree: {error}") from error
    jax.tree_util.tree_map_with_path(_check_leaf, template, params)
    return params


def check_crc(encoded: EncodedParams) -> None:
    """Raises CorruptParams if the checksum does not fit the data."""
    found = zlib.crc32(encoded.data)
    if found != encoded.crc32:
        raise CorruptParams(
            f"parameters {encoded.version} have crc32 {found:#010x}, expected"
            f" {encoded.crc32:#010x} ({len(encoded.data)} bytes)"
        )


def _check_leaf(path: Any, expected: Any, found: Any) -> None:
    name = jax.tree_util.keystr(path)
    if np.shape(found) != expected.shape or found.dtype != expected.dtype:
        raise LayoutMismatch(
            f"{name} is {found.dtype}{np.shape(found)}, expected {expected.dtype}{expected.shape}"
        )
    if not np.all(np.isfinite(found)):
        raise CorruptParams(f"{name} holds a value that is not finite")


def write_params(path: Path, encoded: EncodedParams) -> None:
    """Writes one version to a file, atomically: a line of JSON, then the bytes."""
    header = {k: v for k, v in asdict(encoded).items() if k != "data"}
    write_file(path, _MAGIC + json.dumps(header).encode() + b"\n" + encoded.data)


def read_params(path: Path) -> EncodedParams:
    """Reads what `write_params` wrote; CorruptParams names the file and what is wrong with it."""
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise CorruptParams(f"{path} is no file of policy parameters: begins {content[:16]!r}")
    line, _, data = content[len(_MAGIC) :].partition(b"\n")
    try:
        encoded = EncodedParams(**json.loads(line), data=data)
    except (ValueError, TypeError) as error:
        raise CorruptParams(f"{path} has a damaged header: {error}") from error
    check_crc(encoded)
    return encoded
