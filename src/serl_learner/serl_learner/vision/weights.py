"""Files with pretrained parameters: found, hashed, and checked against what a network needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np


class WeightsError(ValueError):
    """Pretrained parameters are missing, are not the expected ones, or do not fit the network."""


def read_checked(path: Path, sha256: str = "") -> tuple[bytes, str]:
    """Content of the file and its sha256, which must be `sha256` unless that is empty.

    Raises:
      WeightsError: the file cannot be read, or has another hash.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WeightsError(f"weights {str(path)!r} cannot be read: {error.strerror}") from error
    found = hashlib.sha256(content).hexdigest()
    if sha256 and found != sha256.lower():
        raise WeightsError(
            f"weights {str(path)!r} have sha256 {found}, expected {sha256.lower()}:"
            " another or a damaged file"
        )
    return content, found


def take(arrays: Mapping[str, np.ndarray], key: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array `key` as float32, which must have this shape.

    Raises:
      WeightsError: it is missing, has another shape, or is not finite.
    """
    if key not in arrays:
        raise WeightsError(f"weights lack {key!r} {shape}; they have {_some(arrays)}")
    array = np.asarray(arrays[key])
    if array.shape != shape:
        raise WeightsError(f"weights {key!r} have shape {array.shape}, expected {shape}")
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise WeightsError(f"weights {key!r} ({array.dtype}) are not finite floating-point numbers")
    return array.astype(np.float32)


def _some(arrays: Mapping[str, np.ndarray]) -> str:
    keys = sorted(arrays)
    return ", ".join(keys[:4]) + (f" and {len(keys) - 4} more" if len(keys) > 4 else "") or "none"
