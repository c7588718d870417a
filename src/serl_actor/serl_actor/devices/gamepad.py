"""A gamepad: which stick moves what, whether ROS's joy node reads it or this program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from serl_actor.devices.device import DeviceReading
from serl_controllers.geometry import Array

AXES = ("x", "y", "z", "rx", "ry", "rz")
LOOK_PERIOD = 0.5
"""Between two looks for a gamepad that is not there [s]."""

JOY_GONE = 1.0
"""A joy node that was silent for so long is not there any more [s]."""


@dataclass(frozen=True)
class GamepadMapConfig:
    """Axes and buttons by number, as ROS's joy node counts those of an Xbox-like gamepad.

    Sticks are 1 to the left and up; triggers are 1 when let go and -1 when pulled.

    Attributes:
      x, y, z, rx, ry, rz: number of the axis that moves along, or turns about, the operator's x
        (away), y (left) and z (up); None: no axis does.
      inverted: those of them whose axis counts the other way round.
      up, down: triggers that move along z, beside its axis, if it has one.
      buttons: names of the buttons, by number.
    """

    x: int | None = 1
    y: int | None = 0
    z: int | None = None
    rx: int | None = 6
    ry: int | None = 4
    rz: int | None = 3
    inverted: tuple[str, ...] = ("rx",)
    up: int | None = 5
    down: int | None = 2
    buttons: tuple[str, ...] = (
        *("a", "b", "x", "y", "lb", "rb", "back", "start"),
        *("guide", "left_stick", "right_stick"),
    )

    def __post_init__(self) -> None:
        for name in (*AXES, "up", "down"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise ValueError(f"{name} is {number}, expected the number of an axis, from 0")
        unknown = sorted(set(self.inverted) - set(AXES))
        if unknown:
            raise ValueError(f"inverted names {', '.join(unknown)}; known: {', '.join(AXES)}")


class GamepadMap:
    """What numbers of a gamepad mean; knows which triggers were ever pulled.

    A trigger that was not touched yet is told as 0, as if it were half pulled.
    """

    def __init__(self, config: GamepadMapConfig) -> None:
        self._config = config
        self._pulled: set[int] = set()

    def axes(self, values: Sequence[float]) -> Array:
        """The axes [6] of DeviceReading; numbers that the gamepad lacks are at rest."""
        config = self._config
        axes = np.zeros(6)
        for row, name in enumerate(AXES):
            number = getattr(config, name)
            if number is not None and number < len(values):
                axes[row] = -values[number] if name in config.inverted else values[number]
        axes[2] += self._trigger(values, config.up) - self._trigger(values, config.down)
        return np.clip(axes, -1.0, 1.0)

    def buttons(self, values: Sequence[int]) -> frozenset[str]:
        """Names of the pressed buttons; those without a name are called after their number."""
        names = self._config.buttons
        return frozenset(
            names[number] if number < len(names) else f"button_{number}"
            for number, value in enumerate(values)
            if value
        )

    def _trigger(self, values: Sequence[float], number: int | None) -> float:
        """How far it is pulled, 0 .. 1."""
        if number is None or number >= len(values):
            return 0.0
        if values[number] != 0.0:
            self._pulled.add(number)
        return 0.5 * (1.0 - values[number]) if number in self._pulled else 0.0


class JoyGamepad:
    """Implements Device over what a joy node says; one that is silent says nothing any more."""

    def __init__(self, config: GamepadMapConfig, clock: Callable[[], float]) -> None:
        self._map = GamepadMap(config)
        self._clock = clock
        self._reading: DeviceReading | None = None
        self.problem = "nothing came on joy yet: is a joy node running?"

    def hear(self, axes: Sequence[float], buttons: Sequence[int]) -> None:
        """A message came."""
        self.problem = ""
        self._reading = DeviceReading(
            self._map.axes(axes), self._map.buttons(buttons), self._clock()
        )

    def read(self) -> DeviceReading | None:
        """As Device."""
        return self._reading

    def close(self) -> None:
        """Nothing is held."""


class GamepadPort(Protocol):
    """An open gamepad that can be asked how it is."""

    def read(self) -> tuple[list[float], list[int]]:
        """Axes and buttons, counted and signed as by ROS's joy node; OSError: it is gone."""
        ...

    def close(self) -> None:
        """Lets go of it."""
        ...


class PortGamepad:
    """Implements Device over a gamepad of this machine, without a joy node."""

    def __init__(
        self,
        config: GamepadMapConfig,
        clock: Callable[[], float],
        open_port: Callable[[], GamepadPort | None],
    ) -> None:
        """`open_port`: the first gamepad that is there; None: none is."""
        self._map = GamepadMap(config)
        self._clock = clock
        self._open_port = open_port
        self._port: GamepadPort | None = None
        self._look_at = clock()
        self.problem = "no gamepad is plugged in"

    def read(self) -> DeviceReading | None:
        """As Device."""
        now = self._clock()
        try:
            if self._port is None and now >= self._look_at:
                self._look_at = now + LOOK_PERIOD
                self._port = self._open_port()
            if self._port is None:
                return None
            axes, buttons = self._port.read()
        except OSError as error:
            self.close()
            self.problem = f"the gamepad cannot be read: {error}"
            return None
        self.problem = ""
        return DeviceReading(self._map.axes(axes), self._map.buttons(buttons), now)

    def close(self) -> None:
        """As Device."""
        if self._port is not None:
            self._port.close()
        self._port = None


class AnyGamepad:
    """Implements Device: a joy node while there is one, else a gamepad of this machine."""

    def __init__(self, joy: JoyGamepad, port: PortGamepad, clock: Callable[[], float]) -> None:
        self._joy = joy
        self._port = port
        self._clock = clock

    @property
    def problem(self) -> str:
        """As of Device."""
        both = (self._joy.problem, self._port.problem)
        return "; ".join(both) if all(both) else ""

    def read(self) -> DeviceReading | None:
        """As Device."""
        said = self._joy.read()
        if said is not None and self._clock() - said.stamp < JOY_GONE:
            self._port.close()
            return said
        return self._port.read()

    def close(self) -> None:
        """As Device."""
        self._port.close()
