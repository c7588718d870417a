"""A gamepad as the Linux kernel shows it under /dev/input, asked for its state."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path

from serl_actor.devices.bits import set_bits

GAMEPAD = 0x130
"""Code of the button that every gamepad has."""

_AXES, _KEYS = 0x03, 0x01  # event types
_AXIS_CODES, _KEY_CODES = 0x40, 0x300
_READ = 2 << 30 | ord("E") << 8

Ioctl = Callable[[int, int, bytearray], object]


class EvdevPort:
    """Implements GamepadPort; axes and buttons are in the order of their codes, as joy's are."""

    def __init__(self, node: Path, ioctl: Ioctl = fcntl.ioctl) -> None:
        """OSError if it cannot be opened; PermissionError if this user may not."""
        self._file = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._ioctl = ioctl
        self._axes = set_bits(self._ask(0x20 + _AXES, _AXIS_CODES // 8))
        keys = set_bits(self._ask(0x20 + _KEYS, _KEY_CODES // 8))
        self._keys = [code for code in keys if code >= 0x120]  # no keys of a keyboard

    def read(self) -> tuple[list[float], list[int]]:
        """As GamepadPort."""
        pressed = set(set_bits(self._ask(0x18, _KEY_CODES // 8)))
        return [self._axis(code) for code in self._axes], [key in pressed for key in self._keys]

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def _axis(self, code: int) -> float:
        """In [-1, 1], positive to the left and up."""
        value, low, high = struct.unpack_from("<3i", self._ask(0x40 + code, 24))
        return 1.0 - 2.0 * (value - low) / (high - low) if high > low else 0.0

    def _ask(self, number: int, size: int) -> bytearray:
        answer = bytearray(size)
        self._ioctl(self._file, _READ | size << 16 | number, answer)
        return answer


def find_gamepads(
    system: Path = Path("/sys/class/input"), devices: Path = Path("/dev/input")
) -> list[Path]:
    """Nodes of the gamepads that are plugged in."""
    found = []
    for entry in sorted(system.glob("event*")):
        try:
            words = (entry / "device/capabilities/key").read_text(encoding="utf-8").split()
        except OSError:
            continue
        bits = int("".join(word.rjust(16, "0") for word in words) or "0", 16)
        if bits >> GAMEPAD & 1:
            found.append(devices / entry.name)
    return found


def open_gamepad() -> EvdevPort | None:
    """The first gamepad of this machine; None: there is none. OSError as EvdevPort."""
    nodes = find_gamepads()
    return EvdevPort(nodes[0]) if nodes else None
