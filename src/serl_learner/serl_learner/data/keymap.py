"""Which array of somebody else's transition becomes which key of an observation, said in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from serl_learner.vision.cameras import IMAGE

PARTS = {
    "gripper_pose": slice(0, 1),
    "tcp_force": slice(1, 4),
    "tcp_pose": slice(4, 10),
    "tcp_torque": slice(10, 13),
    "tcp_vel": slice(13, 19),
}
"""Of SERL's flat state of 19 numbers, in alphabetical order: `state.tcp_pose`."""
_SOURCE = re.compile(r"(?P<name>\w+)(?:\.(?P<part>\w+)|\[(?P<first>\d*):(?P<end>\d*)\])?")
_OPTIONS = ("from", "zeros", "euler", "scale", "tanh")


class BadMapping(ValueError):
    """A mapping that cannot be read or does not fit the data; names the key, and what there is."""


@dataclass(frozen=True)
class Column:
    """How one array is made.

    Attributes:
      sources: names with a part (`state.tcp_pose`) or a slice (`state[4:10]`), put together.
      zeros: in place of sources: so many zeros, said by whoever knows that nothing is known.
      euler: the last three of six numbers are angles about the fixed axes x, y, z [rad]; they
        become a rotation vector.
      scale: what the numbers are divided by: one, or one for each.
      tanh: of the result.
    """

    sources: tuple[str, ...] = ()
    zeros: int = 0
    euler: bool = False
    scale: tuple[float, ...] = (1.0,)
    tanh: bool = False

    def make(self, arrays: Mapping[str, Any], key: str) -> np.ndarray:
        """The array, of a picture uint8 [H, W, 3], else float32 [n]. Raises BadMapping."""
        if self.zeros:
            return np.zeros(self.zeros, np.float32)
        if key.startswith(IMAGE):
            return _picture(_take(arrays, self.sources[0], key), key)
        parts = [np.atleast_1d(_take(arrays, source, key)) for source in self.sources]
        values = np.concatenate([part.astype(np.float64) for part in parts])
        if self.euler:
            if len(values) != 6:
                raise BadMapping(f"{key}: euler needs 6 numbers, there are {len(values)}")
            values[3:] = Rotation.from_euler("xyz", values[3:]).as_rotvec()
        if len(self.scale) not in (1, len(values)):
            raise BadMapping(f"{key}: scale has {len(self.scale)} numbers for {len(values)}")
        values = values / np.array(self.scale)
        return (np.tanh(values) if self.tanh else values).astype(np.float32)


@dataclass(frozen=True)
class KeyMap:
    """Columns by key of the observation, and that of the action."""

    observation: Mapping[str, Column]
    action: Column = field(default_factory=lambda: Column(("actions",)))


def parse_map(mapping: Mapping[str, Any]) -> KeyMap:
    """From YAML: `observation` by key, and `action` if it is not `actions` as it is.

    A column is a source, a list of them, or a group with `from` (or `zeros`) and options.

    Raises:
      BadMapping: a key or option is unknown, or a source is none.
    """
    for name in mapping:
        if name not in ("observation", "action"):
            raise BadMapping(f"{name}: unknown; known are observation and action")
    observation = mapping.get("observation")
    if not isinstance(observation, Mapping) or not observation:
        raise BadMapping("observation: no key is mapped")
    columns = {str(key): _column(str(key), said) for key, said in observation.items()}
    action = mapping.get("action")
    return KeyMap(columns) if action is None else KeyMap(columns, _column("action", action))


def _column(key: str, said: Any) -> Column:
    if isinstance(said, str | list):
        said = {"from": said}
    if not isinstance(said, Mapping) or not said.keys() & {"from", "zeros"}:
        raise BadMapping(f"{key}: expected a source, or a group with `from` or `zeros`: {said!r}")
    for option in said:
        if option not in _OPTIONS:
            raise BadMapping(f"{key}.{option}: unknown; known are {', '.join(_OPTIONS)}")
    sources = said.get("from", [])
    sources = [sources] if isinstance(sources, str) else sources
    if not isinstance(sources, list) or not (sources or "zeros" in said):
        raise BadMapping(f"{key}.from: expected a source or a list of them, got {sources!r}")
    for source in sources:
        if not isinstance(source, str) or not _SOURCE.fullmatch(source):
            raise BadMapping(f"{key}: {source!r} is no name, name.part or name[from:to]")
    return Column(
        sources=tuple(sources),
        zeros=_zeros(key, said),
        euler=_switch(key, said, "euler"),
        scale=_scale(key, said.get("scale", 1.0)),
        tanh=_switch(key, said, "tanh"),
    )


def _zeros(key: str, said: Mapping[str, Any]) -> int:
    if "zeros" not in said:
        return 0
    count = said["zeros"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1 or "from" in said:
        raise BadMapping(f"{key}.zeros: expected how many, at least 1, and no `from`: {count!r}")
    return count


def _switch(key: str, said: Mapping[str, Any], name: str) -> bool:
    value = said.get(name, False)
    if not isinstance(value, bool):
        raise BadMapping(f"{key}.{name}: expected true or false, got {value!r}")
    return value


def _scale(key: str, said: Any) -> tuple[float, ...]:
    numbers = said if isinstance(said, list) else [said]
    for number in numbers:
        if not isinstance(number, int | float) or not math.isfinite(number) or number == 0:
            raise BadMapping(f"{key}.scale: expected numbers other than 0, got {said!r}")
    return tuple(map(float, numbers))


def _take(arrays: Mapping[str, Any], source: str, key: str) -> np.ndarray:
    match = _SOURCE.fullmatch(source)
    assert match is not None
    if match["name"] not in arrays:
        raise BadMapping(f"{key}: there is no {match['name']!r}; there are {describe(arrays)}")
    value = np.asarray(arrays[match["name"]])
    if match["part"] is None and match["end"] is None:
        return value
    value = _newest(value, 1, f"{key}: {match['name']}")
    if match["part"] is not None:
        if match["part"] not in PARTS or value.shape != (19,):
            raise BadMapping(
                f"{key}: {source!r} is of a state of 19 numbers with the parts {', '.join(PARTS)}; "
                f"{match['name']} has {value.shape}"
            )
        return value[PARTS[match["part"]]]
    first, end = int(match["first"] or 0), int(match["end"] or len(value))
    if not 0 <= first < end <= len(value):
        raise BadMapping(f"{key}: {source!r} reaches out of {match['name']} of {len(value)}")
    return value[first:end]


def _newest(value: np.ndarray, dimensions: int, what: str) -> np.ndarray:
    """Without the axis of a stack of one frame."""
    if value.ndim == dimensions + 1 and len(value) == 1:
        value = value[0]
    if value.ndim != dimensions:
        raise BadMapping(f"{what} has the shape {value.shape}, expected {dimensions} dimensions")
    return value


def _picture(value: np.ndarray, key: str) -> np.ndarray:
    value = _newest(value, 3, key)
    if value.dtype != np.uint8 or value.shape[-1] != 3:
        raise BadMapping(f"{key}: {value.dtype} {value.shape} is no picture, uint8 [H, W, 3]")
    return value


def describe(arrays: Mapping[str, Any]) -> str:
    """Names, dtypes and shapes."""
    shown = ((name, np.asarray(value)) for name, value in sorted(arrays.items()))
    return ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in shown)
