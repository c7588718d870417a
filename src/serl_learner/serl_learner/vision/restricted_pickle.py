"""Arrays out of pickle files without running what the files say.

A pickle is a program that may name any function. Here every name stands for a function of this
file that only builds arrays and dicts; any other name is refused.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from serl_learner.vision.weights import WeightsError


class RestrictedUnpickler(pickle.Unpickler):
    """Unpickler for which `allowed` ("module.name" -> function) is all that there is."""

    def __init__(self, file: io.BytesIO, allowed: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(file, encoding="latin1")
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a global of the file.

        Raises:
          WeightsError: it is none of the allowed ones.
        """
        full = f"{module}.{name}"
        if full not in self._allowed:
            raise WeightsError(f"the file names {full!r}, which no file of arrays needs: refused")
        return StandIn(full, self._allowed[full])


class Unchangeable:
    """What the file may hold, but not alter."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise WeightsError(f"the file alters a {type(self).__name__}: refused")


class StandIn(Unchangeable):
    """A global of the file, which may be called."""

    __slots__ = ("_function", "name")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


class PickledDict(dict[Any, Any]):
    """A dict of the file; attributes set on it (torch's `_metadata`) are dropped."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        pass


class PickledDtype:
    """numpy.dtype of a pickle: kind and size, then the byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: str, *_: Any) -> None:
        if not isinstance(code, str) or code[:1] not in "fiub" or not code[1:].isdigit():
            raise WeightsError(f"the file has an array of dtype {code!r}: only numbers are read")
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise WeightsError(f"the file has an array of byte order {state[1]!r}")
        self.order = state[1]

    def numpy(self) -> np.dtype:
        return np.dtype(self.order + self.code)


class PickledArray:
    """numpy.ndarray of a pickle: made empty, then given shape, dtype, order and bytes."""

    __slots__ = ("value",)

    def __init__(self, *_: Any) -> None:
        self.value: np.ndarray | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, data = state
        self.value = _array(data, dtype, shape, "F" if fortran else "C")


def _array(data: Any, dtype: Any, shape: Any, order: Literal["C", "F"]) -> np.ndarray:
    if not isinstance(data, bytes | bytearray) or not isinstance(dtype, PickledDtype):
        raise WeightsError("the file has an array that is not made of plain numbers")
    return np.frombuffer(bytes(data), dtype.numpy()).reshape(shape, order=order)


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Literal["C", "F"]) -> PickledArray:
    array = PickledArray()
    array.value = _array(data, dtype, shape, order)
    return array


def _jax_array(function: StandIn, arguments: tuple[Any, ...], state: Any, *_: Any) -> PickledArray:
    array = function(*arguments)
    if not isinstance(array, PickledArray):
        raise WeightsError("the file has a JAX array that is not made of an array")
    array.__setstate__(state)
    return array


def _encode(text: str, encoding: str) -> bytes:
    """How old pickles write bytes."""
    if encoding != "latin1":
        raise WeightsError(f"the file has bytes in encoding {encoding!r}")
    return text.encode("latin1")


_NUMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "multiarray._reconstruct": PickledArray,
    "numeric._frombuffer": _from_buffer,
}
_NUMPY: dict[str, Callable[..., Any]] = {
    f"numpy.{core}.{name}": function
    for core in ("core", "_core")
    for name, function in _NUMPY_FUNCTIONS.items()
}
ARRAYS: dict[str, Callable[..., Any]] = {
    **_NUMPY,
    "numpy.ndarray": PickledArray,
    "numpy.dtype": PickledDtype,
    "_codecs.encode": _encode,
    "collections.OrderedDict": PickledDict,
    "flax.core.frozen_dict.FrozenDict": PickledDict,
    "jax._src.array._reconstruct_array": _jax_array,
    "jax._src.device_array.reconstruct_device_array": _jax_array,
}


def load_arrays(content: bytes) -> dict[str, Any]:
    """Nested dicts of arrays, as pickled from NumPy, JAX or flax.

    Raises:
      WeightsError: the file names anything else than arrays and dicts, or is damaged.
    """
    try:
        tree = RestrictedUnpickler(io.BytesIO(content), ARRAYS).load()
    except WeightsError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise WeightsError(f"the file is no readable pickle: {error}") from error
    if not isinstance(tree, dict):
        raise WeightsError(f"the file holds a {type(tree).__name__}, not a dict of arrays")
    return _plain(tree, "")


def _plain(tree: dict[Any, Any], path: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in tree.items():
        where = f"{path}/{key}"
        if isinstance(value, dict):
            result[str(key)] = _plain(value, where)
        elif isinstance(value, PickledArray) and value.value is not None:
            result[str(key)] = value.value
        else:
            raise WeightsError(f"the file has a {type(value).__name__} at {where}, not an array")
    return result
