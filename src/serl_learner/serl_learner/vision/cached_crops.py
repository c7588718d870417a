"""Which crops of a frame have their features cached: the same ones whenever it is encoded."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from serl_learner.vision.config import EncoderConfig


class CachedCrops(NamedTuple):
    """K variants of one frame, the first of them plain.

    offsets: int32 [K, 2], rows and columns for `augment.crop`.
    colours: float32 [K, 3], changes for `augment.recolour`.
    """

    offsets: np.ndarray
    colours: np.ndarray


def cached_crops(session: bytes, number: int, camera: str, config: EncoderConfig) -> CachedCrops:
    """Variants of a frame, drawn from a hash, so that encoding a record again gives the same.

    Args:
      session: id of the record's session.
      number: `seq` of the record; its `episode` when the policy sees a stack, whose frames share
        their crop.
      camera: name; the cameras of a record are shifted independently.
      config: gives K (`crops`), `pad` and `colour_jitter`.
    """
    sides = 2 * config.pad + 1
    offsets = np.full((config.crops, 2), config.pad, np.int32)
    colours = np.zeros((config.crops, 3), np.float32)
    for k in range(1, config.crops):
        words = _words(session, number, camera, k)
        offsets[k] = words[:2] % sides
        colours[k] = config.colour_jitter * (words[2:] / 2.0**63 - 1.0)
    return CachedCrops(offsets, colours)


def _words(session: bytes, number: int, camera: str, k: int) -> np.ndarray:
    """Five numbers, uniform over 0..2^64 - 1."""
    name = camera.encode()
    parts = (session, str(number).encode(), name, str(k).encode())
    text = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    return np.frombuffer(hashlib.blake2b(text, digest_size=40).digest(), "<u8")
