"""From what a device says to what the operator wants: frames, deadband, and when they drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from serl_actor.devices.device import DeviceReading
from serl_actor.intervention import BUTTONS
from serl_controllers.geometry import Array

MODES = ("touch", "hold", "toggle")
_NAMES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class BindingsConfig:
    """Which buttons do what: any of the named ones, or of those joined by `+` all at once.

    Those named in BUTTONS are told to the actor, by these names.

    Attributes:
      engage: takes over, in the modes hold and toggle.
      close: closes the gripper.
      open: opens the gripper.
      pause: holds the arm, and lets it go on.
      stop: holds the arm and ends the episode.
      success: marks frames as solved.
      veto: takes a success back.
    """

    engage: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    success: tuple[str, ...] = ()
    veto: tuple[str, ...] = ()


@dataclass(frozen=True)
class TeleoperationConfig:
    """How a device moves the arm.

    Attributes:
      mode: "touch": whoever moves the device drives; "hold": while the button `engage` is held;
        "toggle": from one press of it to the next.
      frame_id: frame that the twist is given in: the arm's base frame, or "tcp".
      axes: for x, y and z of that frame the operator's axis that moves along it, with its sign.
        ("x", "y", "z"): the operator looks along the base's x; ("-x", "-y", "z"): they face the
        arm.
      deadband: of each axis, in 0 .. 1 of its range; beyond it the axis begins at 0.
      translation_gain, rotation_gain: of a full deflection, in actions; 0 leaves it out.
      stale_after: a reading that was last known to hold so long ago counts as none [s].
      linger: with "touch" they go on driving for so long after the device came to rest [s].
    """

    mode: str = "touch"
    frame_id: str = "fr3_link0"
    axes: tuple[str, str, str] = ("x", "y", "z")
    deadband: float = 0.08
    translation_gain: float = 1.0
    rotation_gain: float = 1.0
    stale_after: float = 0.15
    linger: float = 0.3
    bindings: BindingsConfig = field(default_factory=BindingsConfig)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode '{self.mode}' is not {', '.join(MODES)}")
        if self.mode != "touch" and not self.bindings.engage:
            raise ValueError(f"mode is '{self.mode}', but no button is bound to engage")
        axis_map(self.axes)
        if not 0.0 <= self.deadband < 1.0:
            raise ValueError(f"deadband is {self.deadband}, expected 0 .. 1, without 1")
        for name in ("translation_gain", "rotation_gain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 .. 1")
        if not 0.0 < self.stale_after <= 0.18:
            raise ValueError(f"stale_after is {self.stale_after} s, expected more than 0, to 0.18")
        if self.linger < 0.0:
            raise ValueError(f"linger is {self.linger} s, expected at least 0")


def axis_map(axes: Sequence[str]) -> Array:
    """The rotation [3, 3] from the operator's frame that `axes` describes.

    Raises:
      ValueError: it does not name x, y and z once each, or is a mirror: then turning the device
        to the left would turn the arm to the right.
    """
    matrix = np.zeros((3, 3))
    for row, name in enumerate(axes):
        column = _NAMES.get(name.lstrip("+-"))
        if column is None or len(name) > 2:
            raise ValueError(f"axes {list(axes)}: '{name}' is not x, y or z, with or without -")
        matrix[row, column] = -1.0 if name.startswith("-") else 1.0
    if np.linalg.matrix_rank(matrix) < 3:
        raise ValueError(f"axes {list(axes)} do not name x, y and z once each")
    if np.linalg.det(matrix) < 0.0:
        raise ValueError(f"axes {list(axes)} are a mirror: change one sign, or swap two")
    return matrix


@dataclass(frozen=True, eq=False)
class Wish:
    """What an operator wants.

    Attributes:
      active: they drive.
      twist: [6] in [-1, 1], in the frame of the configuration; 0 unless they drive.
      gripper: -1 close, +1 open, 0 as it is; 0 unless they drive.
      buttons: pressed ones of the device, and what of BUTTONS they mean.
    """

    active: bool
    twist: Array
    gripper: float
    buttons: tuple[str, ...]


NOTHING = Wish(False, np.zeros(6), 0.0, ())


class Teleoperator:
    """Follows a device from reading to reading."""

    def __init__(self, config: TeleoperationConfig) -> None:
        self._config = config
        self._map = axis_map(config.axes)
        self._gains = np.repeat((config.translation_gain, config.rotation_gain), 3)
        self._engaged = self._was_pressed = False
        self._touched_at: float | None = None

    def update(self, reading: DeviceReading | None, now: float) -> Wish:
        """What the operator wants at `now` [s]; without a fresh reading nothing, at once."""
        if reading is None or not self._is_fresh(reading, now):
            self._engaged = self._was_pressed = False
            self._touched_at = None
            return NOTHING
        bindings, pressed = self._config.bindings, reading.buttons
        twist = self._twist(reading.axes)
        closes, opens = is_pressed(bindings.close, pressed), is_pressed(bindings.open, pressed)
        gripper = float(opens) - float(closes)
        moves = bool(twist.any()) or gripper != 0.0
        active = self._drives(moves, is_pressed(bindings.engage, pressed), now)
        meant = [name for name in BUTTONS if is_pressed(getattr(bindings, name), pressed)]
        buttons = (*sorted(pressed - set(BUTTONS)), *meant)
        return Wish(active, twist if active else np.zeros(6), gripper if active else 0.0, buttons)

    def _is_fresh(self, reading: DeviceReading, now: float) -> bool:
        return now - reading.stamp <= self._config.stale_after and bool(
            np.isfinite(reading.axes).all()
        )

    def _twist(self, axes: Array) -> Array:
        """The twist [6] that the axes mean."""
        dead = self._config.deadband
        size = np.clip((np.abs(axes) - dead) / (1.0 - dead), 0.0, 1.0)
        live = np.sign(axes) * size * self._gains
        return np.concatenate((self._map @ live[:3], self._map @ live[3:]))

    def _drives(self, moves: bool, pressed: bool, now: float) -> bool:
        config = self._config
        if config.mode == "hold":
            return pressed
        if config.mode == "toggle":
            if pressed and not self._was_pressed:
                self._engaged = not self._engaged
            self._was_pressed = pressed
            return self._engaged
        if moves:
            self._touched_at = now
        return self._touched_at is not None and now - self._touched_at <= config.linger


def is_pressed(binding: Sequence[str], pressed: frozenset[str]) -> bool:
    """Whether one of the buttons, or all of `a+b`, are pressed."""
    return any(set(names.split("+")) <= pressed for names in binding)
