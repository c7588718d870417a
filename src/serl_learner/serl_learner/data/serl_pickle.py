"""Demonstration files of SERL and HIL-SERL: pickled lists of transitions, read without running
what they say."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from serl_learner.vision.restricted_pickle import (
    ARRAYS,
    PickledArray,
    PickledDtype,
    RestrictedUnpickler,
)
from serl_learner.vision.weights import WeightsError

Transition = dict[str, Any]
"""`observations`, `actions`, `next_observations`, `rewards`, `masks`, `dones`; perhaps `infos`."""

KEYS = ("observations", "actions", "next_observations", "rewards", "masks", "dones")
SUFFIXES = (".pkl", ".pickle")


class BadPickle(ValueError):
    """A file that holds no such list, or more than arrays; names the file and what it met."""


def _scalar(dtype: Any, data: Any = b"") -> Any:
    if not isinstance(dtype, PickledDtype) or not isinstance(data, bytes):
        raise WeightsError("the file has a number that is none")
    return np.frombuffer(data, dtype.numpy())[0]


_NUMBERS: dict[str, Callable[..., Any]] = {
    **ARRAYS,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
}


def load_transitions(path: Path) -> list[Transition]:
    """The transitions in order: nested dicts and lists of arrays, numbers and texts.

    Raises:
      BadPickle: the file names a function or class, is damaged, or is no list of transitions.
    """
    try:
        content = RestrictedUnpickler(io.BytesIO(path.read_bytes()), _NUMBERS).load()
        found = _plain(content, "the file")
    except OSError as error:
        raise BadPickle(f"{path}: {error.strerror}") from error
    except WeightsError as error:
        raise BadPickle(f"{path}: {error}") from error
    except Exception as error:  # a damaged pickle can raise anything
        raise BadPickle(f"{path} is no readable pickle: {error}") from error
    if not isinstance(found, list) or not found:
        raise BadPickle(f"{path} holds a {type(found).__name__}, not a list of transitions")
    for index, transition in enumerate(found):
        lacking = [k for k in KEYS if not isinstance(transition, dict) or k not in transition]
        if lacking:
            raise BadPickle(f"{path}: transition {index} lacks {', '.join(lacking)}")
    return found


def _plain(value: Any, where: str) -> Any:
    """`value` without the stand-ins of the file."""
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{where}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, PickledArray) and value.value is not None:
        return value.value
    if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        return value
    raise WeightsError(f"{where} has a {type(value).__name__}: refused")
