"""The tensors of a torch checkpoint as NumPy arrays, without torch."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from typing import Any

import numpy as np

from serl_learner.vision.restricted_pickle import (
    PickledDict,
    RestrictedUnpickler,
    StandIn,
    Unchangeable,
)
from serl_learner.vision.weights import WeightsError

_MAGIC = 0x1950A86A20F9469CFC6C  # first pickle of a legacy file
_PROTOCOL = 1001
_STORAGES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}


class _Storage(Unchangeable):
    """A block of numbers that tensors look into; its bytes may come later in the file."""

    __slots__ = ("count", "data", "dtype")

    def __init__(self, dtype: np.dtype, count: int) -> None:
        self.dtype, self.count = dtype, count
        self.data: np.ndarray | None = None

    def fill(self, content: bytes) -> None:
        if len(content) != self.count * self.dtype.itemsize:
            raise WeightsError(f"a storage has {len(content)} bytes, not {self.count} numbers")
        self.data = np.frombuffer(content, self.dtype)


class _Tensor(Unchangeable):
    """A strided view of a storage."""

    __slots__ = ("_offset", "_size", "_storage", "_stride")

    def __init__(
        self,
        storage: _Storage,
        offset: int,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        *_: Any,
    ) -> None:
        self._storage, self._offset, self._size, self._stride = storage, offset, size, stride

    def numpy(self) -> np.ndarray:
        if min((self._offset, *self._size, *self._stride)) < 0:
            raise WeightsError(f"a tensor {self._size} has a negative size or stride")
        last = self._offset + sum(
            (n - 1) * s for n, s in zip(self._size, self._stride, strict=True)
        )
        if self._storage.data is None or (0 not in self._size and last >= self._storage.count):
            raise WeightsError(f"a tensor {self._size} lies outside its storage")
        strides = [s * self._storage.dtype.itemsize for s in self._stride]
        data = self._storage.data[self._offset :]
        return np.lib.stride_tricks.as_strided(data, self._size, strides).copy()


class _TorchUnpickler(RestrictedUnpickler):
    """Knows tensors, dicts, and storages by their key in the file."""

    def __init__(self, file: Any) -> None:
        names = {f"torch.{name}": _not_called for name in _STORAGES}
        super().__init__(
            file,
            {
                **names,
                "torch._utils._rebuild_tensor_v2": _Tensor,
                "collections.OrderedDict": PickledDict,
            },
        )
        self.storages: dict[str, _Storage] = {}

    def persistent_load(self, pid: Any) -> _Storage:
        kind, storage, key, _, count = pid[:5]
        if kind != "storage" or not isinstance(storage, StandIn):
            raise WeightsError(f"the file refers to a {kind!r}: only storages are read")
        dtype = np.dtype(_STORAGES[storage.name.removeprefix("torch.")])
        return self.storages.setdefault(key, _Storage(dtype, count))


def read_state_dict(content: bytes) -> dict[str, np.ndarray]:
    """Name -> array of a state dict that torch saved, in its legacy or its zip format.

    Raises:
      WeightsError: the file names anything else than tensors and dicts, or is damaged.
    """
    try:
        zipped = content[:2] == b"PK"
        tensors = _read_zip(content) if zipped else _read_legacy(content)
        if not isinstance(tensors, dict):
            raise WeightsError(f"the file holds a {type(tensors).__name__}, not a dict of tensors")
        return {str(k): t.numpy() for k, t in tensors.items() if isinstance(t, _Tensor)}
    except WeightsError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise WeightsError(f"the file is no readable torch checkpoint: {error}") from error


def _read_legacy(content: bytes) -> Any:
    """Pickles of magic number, protocol, sizes, object, storage keys; then the storages."""
    file = io.BytesIO(content)
    if _load(file) != _MAGIC or _load(file) != _PROTOCOL:
        raise WeightsError("the file does not begin as a torch checkpoint does")
    if not _load(file)["little_endian"]:
        raise WeightsError("the file was written on a big-endian machine")
    unpickler = _TorchUnpickler(file)
    tensors = unpickler.load()
    for key in _load(file):
        storage = unpickler.storages[key]
        (count,) = struct.unpack("<q", file.read(8))
        if count != storage.count:
            raise WeightsError(f"storage {key!r} has {count} numbers, expected {storage.count}")
        storage.fill(file.read(count * storage.dtype.itemsize))
    return tensors


def _read_zip(content: bytes) -> Any:
    """`<name>/data.pkl` with the object, `<name>/data/<key>` with each storage."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (main,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        root = main.removesuffix("data.pkl")
        order = root + "byteorder"
        if order in archive.namelist() and archive.read(order).decode() != sys.byteorder:
            raise WeightsError("the file was written on a machine of another byte order")
        unpickler = _TorchUnpickler(io.BytesIO(archive.read(main)))
        tensors = unpickler.load()
        for key, storage in unpickler.storages.items():
            storage.fill(archive.read(f"{root}data/{key}"))
    return tensors


def _load(file: io.BytesIO) -> Any:
    return RestrictedUnpickler(file, {}).load()


def _not_called(*_: Any) -> None:
    raise WeightsError("the file calls a storage type: refused")
