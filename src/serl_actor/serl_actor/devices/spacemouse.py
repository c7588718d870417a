"""A SpaceMouse, with or without cable: read while it is there, looked for while it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from serl_actor.devices.device import DeviceReading
from serl_actor.devices.hid_port import HidDevice, HidPort, HidrawPort, list_hid
from serl_actor.devices.spacemouse_reports import Decoder, Model, find_model

LOOK_PERIOD = 0.5
"""Between two looks for a device that is not there [s]."""

MOST_REPORTS = 256
"""Reports taken in one reading; a device makes 3 between two."""

UDEV = "udev rule 99-spacemouse.rules of docs/hardware.md, then plug it in anew"


class SpaceMouse:
    """Implements Device.

    At rest the device is silent; while the cap is moved it reports every 8 to 16 ms. A cap that was
    moved and of which nothing is heard is therefore of the past: the reading keeps its stamp.

    Attributes:
      problem: as of Device.
      model: of the device that is there.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        find: Callable[[], list[HidDevice]] = list_hid,
        open_port: Callable[[Path], HidPort] = HidrawPort,
    ) -> None:
        """`clock` is steady [s]; `find` and `open_port` are those of the machine."""
        self._clock = clock
        self._find = find
        self._open_port = open_port
        self._port: HidPort | None = None
        self._moved_at = 0.0
        self._look_at = clock()
        self.model: Model | None = None
        self.problem = "no SpaceMouse is plugged in"

    def read(self) -> DeviceReading | None:
        """As Device; takes all reports that wait."""
        now = self._clock()
        if self._port is None:
            self._look(now)
        if self._port is None:
            return None
        try:
            for _ in range(MOST_REPORTS):
                report = self._port.read()
                if report is None:
                    break
                if self._decoder.feed(report):
                    self._moved_at = now
        except OSError as error:
            self.close()
            self.problem = f"the SpaceMouse was unplugged ({error})"
            self._look_at = now + LOOK_PERIOD
            return None
        moves = self._decoder.axes.any()
        return DeviceReading(
            self._decoder.axes, self._decoder.buttons, self._moved_at if moves else now
        )

    def close(self) -> None:
        """As Device."""
        if self._port is not None:
            self._port.close()
        self._port = self.model = None

    def _look(self, now: float) -> None:
        """Opens the first device that is one, if it is time to look."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_PERIOD
        for device, model in spacemice(self._find()):
            try:
                self._port = self._open_port(device.node)
            except PermissionError:
                self.problem = f"{model.name}: {device.node} may not be read; {UDEV}"
                continue
            except OSError as error:
                self.problem = f"{model.name}: {error}"
                continue
            self.model, self.problem = model, ""
            self._decoder = Decoder(model)
            return


def spacemice(devices: list[HidDevice]) -> list[tuple[HidDevice, Model]]:
    """Those of the devices that are one, each with its model.

    A receiver shows several nodes, for mice and keyboards, too: that of six axes is meant.
    """
    known = [(device, find_model(device.vendor, device.product)) for device in devices]
    return [(device, model) for device, model in known if model is not None and device.six_axes]
