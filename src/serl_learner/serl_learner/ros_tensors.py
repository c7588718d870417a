"""Tensor message <-> NumPy array; the decoder trusts nothing it is given."""

from __future__ import annotations

import array
import math
from collections.abc import Iterable, Mapping

import numpy as np

from serl_interfaces.msg import Tensor

DTYPES = frozenset(("bool", "uint8", "uint16", "int32", "int64", "float16", "float32", "float64"))
MAX_TENSOR_BYTES = 16 * 2**20
"""Largest array that is accepted."""
MAX_TENSORS = 64
"""Most arrays in one message."""
MAX_DIMENSIONS = 8


class MalformedMessage(ValueError):
    """A message that must not be used; names the value and the limit."""


def tensor_to_msg(name: str, value: np.ndarray) -> Tensor:
    """One named array as a message; MalformedMessage if its dtype may not be sent."""
    value = np.asarray(value)
    if value.dtype.name not in DTYPES:
        raise MalformedMessage(f"{name!r}: dtype {value.dtype} is not one of {sorted(DTYPES)}")
    message = Tensor(name=name, dtype=value.dtype.name)
    message.shape = array.array("I", value.shape)
    little = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"), copy=False))
    message.data = array.array("B", little.tobytes())
    return message


def tensor_from_msg(message: Tensor) -> np.ndarray:
    """The array of a message, a copy.

    Raises:
      MalformedMessage: dtype, shape and size do not fit each other or the limits, or a value is
        not finite.
    """
    name = message.name
    if message.dtype not in DTYPES:
        raise MalformedMessage(f"{name!r}: dtype {message.dtype!r} is not one of {sorted(DTYPES)}")
    if len(message.shape) > MAX_DIMENSIONS:
        raise MalformedMessage(f"{name!r}: {len(message.shape)} dimensions, limit {MAX_DIMENSIONS}")
    shape = tuple(int(n) for n in message.shape)
    dtype = np.dtype(message.dtype).newbyteorder("<")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_TENSOR_BYTES:
        raise MalformedMessage(f"{name!r}: {shape} takes {size} bytes, limit {MAX_TENSOR_BYTES}")
    if len(message.data) != size:
        raise MalformedMessage(
            f"{name!r}: {len(message.data)} bytes, expected {size} for {message.dtype} {shape}"
        )
    raw = np.frombuffer(message.data, np.uint8)
    if message.dtype == "bool" and np.any(raw > 1):
        raise MalformedMessage(f"{name!r}: bool of value {raw.max()}, limit 1")
    value = raw.view(dtype).reshape(shape).astype(np.dtype(message.dtype))
    if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
        bad = value[~np.isfinite(value)].flat[0]
        raise MalformedMessage(f"{name!r} holds {bad}: not finite")
    return value


def tensors_to_msgs(values: Mapping[str, np.ndarray]) -> list[Tensor]:
    """Messages sorted by name."""
    return [tensor_to_msg(name, values[name]) for name in sorted(values)]


def tensors_from_msgs(messages: Iterable[Tensor]) -> dict[str, np.ndarray]:
    """Arrays by name; MalformedMessage also for too many or a name that occurs twice."""
    messages = list(messages)
    if len(messages) > MAX_TENSORS:
        raise MalformedMessage(f"{len(messages)} tensors, limit {MAX_TENSORS}")
    values: dict[str, np.ndarray] = {}
    for message in messages:
        if message.name in values:
            raise MalformedMessage(f"tensor {message.name!r} occurs twice")
        values[message.name] = tensor_from_msg(message)
    return values
