"""Policy parameters as bytes, with what a receiver needs to trust them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import flax.serialization
import numpy as np

from serl_learner.tree_layout import (
    differences,
    layout_of,
    layout_of_leaves,
    named_leaves,
    with_leaves,
)

CODEC = "flax-msgpack"


class ParamsError(ValueError):
    """Parameters that must not be used."""


class CorruptParams(ParamsError):
    """The checksum is another, or the bytes cannot be decoded: fetch them again."""


class LayoutMismatch(ParamsError):
    """They belong to another network or observation layout."""


@dataclass(frozen=True)
class EncodedParams:
    """What PolicyParams.msg carries; `crc32` is of `data`."""

    version: int
    learner_step: int
    layout_hash: str
    codec: str
    crc32: int
    data: bytes


def encode(params: Any, version: int, learner_step: int, layout_hash: str) -> EncodedParams:
    """Bytes of a tree of arrays.

    Args:
      params: the policy's parameters, on any device.
      version: only ever grows.
      learner_step: critic updates done when they were taken.
      layout_hash: of tree, shapes, dtypes and configuration; see `policy.layout_hash`.
    """
    leaves = {name: np.asarray(leaf) for name, leaf in named_leaves(params).items()}
    data = flax.serialization.msgpack_serialize(leaves)
    return EncodedParams(version, learner_step, layout_hash, CODEC, zlib.crc32(data), data)


def decode(encoded: EncodedParams, template: Any, layout_hash: str) -> Any:
    """The parameters, shaped as `template`.

    Raises:
      LayoutMismatch: of another layout or codec.
      CorruptParams: other bytes than were sent.
    """
    if encoded.codec != CODEC:
        raise LayoutMismatch(f"parameters are encoded as {encoded.codec!r}, expected {CODEC!r}")
    if encoded.layout_hash != layout_hash:
        raise LayoutMismatch(
            f"parameters have layout {encoded.layout_hash!r}, this policy has {layout_hash!r}:"
            " learner and actor differ in observation keys or network configuration"
        )
    crc = zlib.crc32(encoded.data)
    if crc != encoded.crc32:
        raise CorruptParams(f"parameters have crc32 {crc:08x}, expected {encoded.crc32:08x}")
    try:
        leaves = flax.serialization.msgpack_restore(encoded.data)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptParams(f"parameters cannot be decoded: {error}") from error
    wrong = differences(layout_of(template), layout_of_leaves(leaves))
    if wrong:
        raise LayoutMismatch(f"parameters do not fit: {'; '.join(wrong[:3])}")
    return with_leaves(template, leaves)
