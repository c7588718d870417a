"""HID devices as Linux gives them: which are plugged in, and their reports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

LONGEST_REPORT = 64
"""Of a full-speed USB device [bytes]."""

SIX_AXES = bytes((0x05, 0x01, 0x09, 0x08))
"""How the report descriptor of a multi-axis controller begins."""


class HidPort(Protocol):
    """An open HID device."""

    def read(self) -> bytes | None:
        """The next report, its number first; None: there is none now. OSError: it is gone."""
        ...

    def close(self) -> None:
        """Lets go of it."""
        ...


@dataclass(frozen=True)
class HidDevice:
    """A device that is plugged in."""

    vendor: int
    product: int
    node: Path
    six_axes: bool


class HidrawPort:
    """A /dev/hidraw* that is read without waiting."""

    def __init__(self, node: Path) -> None:
        """OSError if it cannot be opened; PermissionError if this user may not."""
        self._file = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def read(self) -> bytes | None:
        """As HidPort."""
        try:
            report = os.read(self._file, LONGEST_REPORT)
        except BlockingIOError:
            return None
        if not report:
            raise OSError("the device is gone")
        return report

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


def list_hid(
    system: Path = Path("/sys/class/hidraw"), devices: Path = Path("/dev")
) -> list[HidDevice]:
    """All HID devices, by name of their nodes; those of which nothing is known are left out."""
    found = []
    for entry in sorted(system.glob("hidraw*")):
        try:
            lines = (entry / "device" / "uevent").read_text(encoding="utf-8").splitlines()
            said = dict(line.split("=", 1) for line in lines if "=" in line)
            _, vendor, product = (int(number, 16) for number in said["HID_ID"].split(":"))
            descriptor = (entry / "device" / "report_descriptor").read_bytes()
        except (OSError, KeyError, ValueError):
            continue
        six_axes = descriptor.startswith(SIX_AXES)
        found.append(HidDevice(vendor, product, devices / entry.name, six_axes))
    return found
