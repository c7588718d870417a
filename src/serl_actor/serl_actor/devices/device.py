"""What every operator's device is to the rest: axes, buttons, and since when they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from serl_controllers.geometry import Array

PERSONS = ("spacemouse", "gamepad", "keyboard")
"""Devices, and nodes, of a person: nobody waits for their answer to a state."""


@dataclass(frozen=True, eq=False)
class DeviceReading:
    """What a device says.

    Attributes:
      axes: translation and rotation [6] in [-1, 1], in the operator's frame: x away from them, y to
        their left, z up; rotations right-handed about these.
      buttons: names of the pressed buttons.
      stamp: when this was last known to be so, on the steady clock [s].
    """

    axes: Array
    buttons: frozenset[str]
    stamp: float


class Device(Protocol):
    """A device that may come and go.

    Attributes:
      problem: why there is nothing to read, for a person; empty: it can be read.
    """

    problem: str

    def read(self) -> DeviceReading | None:
        """What it says now; does not block. None: it is not there."""
        ...

    def close(self) -> None:
        """Lets go of it."""
        ...
