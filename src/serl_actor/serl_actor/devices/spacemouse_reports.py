"""HID reports of 3Dconnexion's devices: which devices there are, and what their bytes mean.

Report 1 is the translation, 2 the rotation, both of three int16; where report 1 has all six there
is no report 2. Report 3 is a bit for each button. Others (battery, lamp) say nothing of the cap.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from serl_actor.devices.bits import set_bits
from serl_controllers.geometry import Array

FULL_SCALE = 350.0
"""Reading of an axis at its stop."""

TRANSLATION, ROTATION, BUTTONS = 1, 2, 3

# The device counts right, towards the operator and down: (x, y, z) of the operator's frame are
# minus the second, minus the first and minus the third. Rotations are right-handed in both.
_ORDER = np.array((1, 0, 2))

_TWO = {0: "left", 1: "right"}
_MANY = {
    0: "menu",
    1: "fit",
    2: "top",
    4: "right_view",
    5: "front",
    8: "roll",
    10: "iso",
    **{12 + i: str(i + 1) for i in range(10)},
    22: "esc",
    23: "alt",
    24: "shift",
    25: "ctrl",
    26: "lock",
}


@dataclass(frozen=True)
class Model:
    """A device: its name, and what its buttons are called, by bit of report 3."""

    name: str
    buttons: Mapping[int, str]

    def button(self, bit: int) -> str:
        """Name of a button; one that the table lacks is called after its bit."""
        return self.buttons.get(bit, f"button_{bit}")


MODELS: Mapping[tuple[int, int], Model] = {
    (0x046D, 0xC626): Model("SpaceNavigator", _TWO),
    (0x046D, 0xC628): Model("SpaceNavigator for Notebooks", _TWO),
    (0x046D, 0xC629): Model("SpacePilot Pro", _MANY),
    (0x046D, 0xC62B): Model("SpaceMouse Pro", _MANY),
    (0x256F, 0xC62E): Model("SpaceMouse Wireless (cable)", _TWO),
    (0x256F, 0xC62F): Model("SpaceMouse Wireless (receiver)", _TWO),
    (0x256F, 0xC631): Model("SpaceMouse Pro Wireless (cable)", _MANY),
    (0x256F, 0xC632): Model("SpaceMouse Pro Wireless (receiver)", _MANY),
    (0x256F, 0xC633): Model("SpaceMouse Enterprise", _MANY),
    (0x256F, 0xC635): Model("SpaceMouse Compact", _TWO),
    (0x256F, 0xC636): Model("SpaceMouse Module", _TWO),
    (0x256F, 0xC638): Model("SpaceMouse Pro Wireless (Bluetooth)", _MANY),
    (0x256F, 0xC63A): Model("SpaceMouse Wireless (Bluetooth)", _TWO),
    (0x256F, 0xC641): Model("SpaceMouse Module", _TWO),
    (0x256F, 0xC652): Model("Universal Receiver", _MANY),
}
VENDOR = 0x256F  # all that it makes with six axes speaks like this


def find_model(vendor: int, product: int) -> Model | None:
    """The model of a USB device; None: it is none of these.

    The receiver does not say which mouse is behind it: its buttons have the names of the Pro's.
    """
    model = MODELS.get((vendor, product))
    if model is None and vendor == VENDOR:
        return Model(f"3Dconnexion {product:04x}", {})
    return model


class Decoder:
    """The state of a device, after each of its reports.

    Attributes:
      axes: [6] in the operator's frame, in [-1, 1].
      buttons: names of the pressed ones.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.axes: Array = np.zeros(6)
        self.buttons: frozenset[str] = frozenset()

    def feed(self, report: bytes) -> bool:
        """Takes one report, its number first; true: it was one of the cap.

        Reports that are unknown or too short change nothing.
        """
        if not report:
            return False
        number, body = report[0], report[1:]
        if number == BUTTONS:
            self.buttons = frozenset(self._model.button(bit) for bit in set_bits(body))
            return False
        if number not in (TRANSLATION, ROTATION) or len(body) < 6:
            return False
        axes = self.axes.copy()
        if number == TRANSLATION:
            axes[:3] = _axes(body[:6])
            if len(body) >= 12:
                axes[3:] = _axes(body[6:12])
        else:
            axes[3:] = _axes(body[:6])
        self.axes = axes
        return True


def _axes(body: bytes) -> Array:
    """Three axes in the operator's frame."""
    counts = np.array(struct.unpack("<3h", body), dtype=np.float64)
    return np.clip(-counts[_ORDER] / FULL_SCALE, -1.0, 1.0)
