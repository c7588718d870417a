"""Has a person move every axis of their SpaceMouse, and says which of them come in. No ROS."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from serl_actor.devices.device import DeviceReading
from serl_actor.devices.spacemouse import SpaceMouse
from serl_franka_bringup.checks import FAIL, OK, WARN, Finding

FAR = 0.3
"""Deflection that counts, of 1."""

SECONDS = 20.0
"""Given to the person [s]."""

DIRECTIONS = (
    *("away", "left", "up", "tilt right", "tilt away", "turn left"),
    *("towards you", "right", "down", "tilt left", "tilt towards you", "turn right"),
)


class Wiggle:
    """What came in so far.

    Attributes:
      buttons: names of those that were pressed.
    """

    def __init__(self) -> None:
        self._seen = np.zeros(12, bool)
        self.buttons: set[str] = set()

    def see(self, reading: DeviceReading) -> None:
        """One more reading."""
        self._seen |= np.concatenate((reading.axes, -reading.axes)) > FAR
        self.buttons |= reading.buttons

    @property
    def missing(self) -> list[str]:
        """Directions that were not seen yet."""
        return [name for name, seen in zip(DIRECTIONS, self._seen, strict=True) if not seen]


def check_wiggle(
    say: Callable[[str], None],
    mouse: SpaceMouse | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Finding]:
    """Asks for every direction in turn, until all were seen or the time is over."""
    mouse = mouse or SpaceMouse(clock)
    wiggle, end, asked = Wiggle(), clock() + SECONDS, ""
    name = ""
    while wiggle.missing and clock() < end:
        reading = mouse.read()
        if reading is not None:
            name = mouse.model.name if mouse.model is not None else name
            wiggle.see(reading)
            ask = f"move the cap: {', '.join(wiggle.missing)}" if wiggle.missing else "done"
        elif not name:
            break  # there is none to begin with
        else:
            ask = mouse.problem
        if ask != asked:
            say(ask)
            asked = ask
        sleep(0.02)
    mouse.close()
    return [_judge(wiggle, name, mouse.problem)]


def _judge(wiggle: Wiggle, name: str, problem: str) -> Finding:
    if not name:
        denied = "may not be read" in problem
        advice = "" if denied else "plug it in"
        return Finding("wiggle", FAIL if denied else WARN, problem, advice)
    pressed = f"; buttons {', '.join(sorted(wiggle.buttons))}" if wiggle.buttons else ""
    if wiggle.missing:
        advice = "move the cap further; a cap that sticks or an axis that is dead?"
        return Finding("wiggle", WARN, f"{name}: no {', '.join(wiggle.missing)}{pressed}", advice)
    return Finding("wiggle", OK, f"{name}: all six axes, both ways{pressed}")
