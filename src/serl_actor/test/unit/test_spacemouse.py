"""Bytes of 3Dconnexion's devices to readings; devices that stall, leave and come back."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from serl_actor.devices.hid_port import HidDevice, HidrawPort, list_hid
from serl_actor.devices.spacemouse import LOOK_PERIOD, SpaceMouse
from serl_actor.devices.spacemouse_reports import MODELS, Decoder, find_model
from serl_actor.devices.teleoperation import BindingsConfig, TeleoperationConfig, Teleoperator

COMPACT, PRO_WIRELESS = (0x256F, 0xC635), (0x256F, 0xC632)
PUSH = bytes((1, 0, 0, 0xA2, 0xFE, 0, 0))  # y: 0xFEA2 = -350, away from the operator
REST = bytes((1, 0, 0, 0, 0, 0, 0))


def motion(number: int, *counts: int) -> bytes:
    """A report of the cap."""
    return bytes((number,)) + struct.pack(f"<{len(counts)}h", *counts)


class FakePort:
    """Gives out the reports that a test puts in; one that is an error is raised."""

    def __init__(self) -> None:
        self.waiting: list[bytes | OSError] = []
        self.closed = False

    def read(self) -> bytes | None:
        if not self.waiting:
            return None
        report = self.waiting.pop(0)
        if isinstance(report, OSError):
            raise report
        return report

    def close(self) -> None:
        self.closed = True


class Desk:
    """A clock and a USB port."""

    def __init__(self, ids=COMPACT) -> None:
        self.now = 100.0
        self.port = FakePort()
        self.plugged: list[HidDevice] = [HidDevice(*ids, Path("/dev/hidraw3"), True)]
        self.opens = 0
        self.mouse = SpaceMouse(lambda: self.now, lambda: self.plugged, self._open)

    def _open(self, node: Path) -> FakePort:
        self.opens += 1
        self.port = FakePort()
        return self.port

    def read(self, *reports: bytes | OSError):
        self.mouse.read()
        self.port.waiting += reports
        return self.mouse.read()


def test_two_reports_of_a_cable_device_in_the_operators_frame():
    decoder = Decoder(MODELS[COMPACT])
    assert decoder.feed(motion(1, 70, -350, -175))  # right 0.2, away 1, up 0.5
    assert decoder.feed(motion(2, 35, 0, -700))  # front up 0.1, left 1 beyond the stop
    np.testing.assert_allclose(decoder.axes, (1.0, -0.2, 0.5, 0.0, -0.1, 1.0))


def test_one_report_of_thirteen_bytes_has_all_six():
    decoder = Decoder(MODELS[PRO_WIRELESS])
    report = motion(1, 0, 350, 0, 0, 0, 350)
    assert len(report) == 13
    assert decoder.feed(report)
    np.testing.assert_array_equal(decoder.axes, (-1.0, 0.0, 0.0, 0.0, 0.0, -1.0))


def test_turning_is_right_handed_about_the_axes_of_translation():
    """The device's frame is turned into the operator's, not mirrored."""
    decoder = Decoder(MODELS[COMPACT])
    columns = []
    for axis in np.eye(3, dtype=int):
        decoder.feed(motion(1, *(350 * axis)))
        columns.append(decoder.axes[:3])
        decoder.feed(motion(2, *(350 * axis)))
        np.testing.assert_array_equal(decoder.axes[3:], decoder.axes[:3])
    assert np.linalg.det(np.array(columns)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "report", [b"", b"\x01", b"\x01\x05\x00", b"\x17\x64", b"\x1c" + 60 * b"\1"]
)
def test_reports_that_are_short_or_unknown_change_nothing(report):
    decoder = Decoder(MODELS[COMPACT])
    decoder.feed(PUSH)
    assert not decoder.feed(report)
    np.testing.assert_array_equal(decoder.axes, (1, 0, 0, 0, 0, 0))
    assert decoder.buttons == frozenset()


def test_case_05_fifteen_buttons_and_more_have_names():
    decoder = Decoder(MODELS[PRO_WIRELESS])
    pro = (0, 1, 2, 4, 5, 8, 12, 13, 14, 15, 22, 23, 24, 25, 26)
    decoder.feed(b"\x03" + sum(1 << bit for bit in pro).to_bytes(4, "little"))
    names = "menu fit top right_view front roll 1 2 3 4 esc alt shift ctrl lock"
    assert decoder.buttons == set(names.split())
    decoder.feed(b"\x03" + 8 * b"\xff")
    assert len(decoder.buttons) == 64
    assert "button_63" in decoder.buttons
    decoder.feed(b"\x03\x00\x00\x00\x00")
    assert decoder.buttons == frozenset()


def test_unknown_devices_of_the_vendor_are_served_and_those_of_others_are_not():
    model = find_model(0x256F, 0xC6FF)
    assert model is not None
    assert model.button(1) == "button_1"
    assert find_model(0x046D, 0xC52B) is None  # Logitech's receiver of mice


def test_at_rest_the_reading_is_of_now_and_a_cap_that_is_held_still_counts():
    desk = Desk()
    assert desk.read().stamp == 100.0
    desk.now = 105.0
    assert desk.read().stamp == 105.0
    assert desk.read(PUSH).stamp == 105.0
    desk.now = 105.1
    assert desk.read(PUSH).stamp == 105.1


def test_d25_a_device_that_stalls_in_mid_push_keeps_its_old_stamp():
    desk = Desk()
    desk.read(PUSH)
    desk.now = 100.4
    assert desk.read().stamp == 100.0
    desk.now = 100.5
    assert desk.read(REST).stamp == 100.5


def test_case_05_unplugged_in_mid_push_the_command_is_zero_within_200_ms_and_replugging_works():
    desk, operator = Desk(), Teleoperator(TeleoperationConfig())
    assert operator.update(desk.read(PUSH), desk.now).active
    stalled = desk.now
    while operator.update(desk.read(), desk.now).active:  # the cable is half out: silence
        desk.now += 0.02
    assert desk.now - stalled <= 0.2
    assert operator.update(desk.read(PUSH), desk.now).active
    desk.plugged = []
    gone = operator.update(desk.read(OSError(19, "No such device")), desk.now)
    assert not gone.active
    assert not gone.twist.any()
    assert desk.port.closed
    assert "unplugged" in desk.mouse.problem
    desk.now += LOOK_PERIOD
    assert desk.read() is None
    desk.plugged = [HidDevice(*COMPACT, Path("/dev/hidraw5"), True)]
    desk.now += LOOK_PERIOD
    again = desk.mouse.read()
    assert again is not None
    assert not again.axes.any()
    assert desk.mouse.problem == ""
    assert operator.update(desk.read(PUSH), desk.now).active


def test_a_device_is_looked_for_not_more_often_than_need_be():
    desk = Desk()
    desk.plugged = []
    looks = []
    desk.mouse = SpaceMouse(lambda: desk.now, lambda: looks.append(1) or [], desk._open)
    for _ in range(50):
        desk.mouse.read()
        desk.now += 0.02
    assert len(looks) == 2


def test_a_device_that_may_not_be_read_is_told_with_what_to_do():
    desk = Desk()

    def refuse(node: Path):
        raise PermissionError(13, "Permission denied")

    mouse = SpaceMouse(lambda: desk.now, lambda: desk.plugged, refuse)
    assert mouse.read() is None
    assert "/dev/hidraw3 may not be read; udev rule 99-spacemouse.rules" in mouse.problem


def test_of_a_receiver_the_node_with_six_axes_is_opened():
    desk = Desk()
    receiver = (0x256F, 0xC652)
    desk.plugged = [
        HidDevice(*receiver, Path("/dev/hidraw0"), False),
        HidDevice(*receiver, Path("/dev/hidraw1"), True),
    ]
    opened = []
    SpaceMouse(
        lambda: desk.now, lambda: desk.plugged, lambda n: opened.append(n) or FakePort()
    ).read()
    assert opened == [Path("/dev/hidraw1")]


def test_two_buttons_at_once_are_a_third():
    config = TeleoperationConfig(
        bindings=BindingsConfig(close=("left",), open=("right",), pause=("menu", "left+right"))
    )
    desk, operator = Desk(), Teleoperator(config)
    one = operator.update(desk.read(b"\x03\x01"), desk.now)
    assert (one.active, one.gripper, one.buttons) == (True, -1.0, ("left",))
    both = operator.update(desk.read(b"\x03\x03"), desk.now)
    assert (both.gripper, both.buttons) == (0.0, ("left", "right", "pause"))


def test_devices_of_a_machine_are_listed_and_read(tmp_path: Path):
    """A made-up /sys, and a pipe for the device."""
    system, devices = tmp_path / "sys", tmp_path / "dev"
    devices.mkdir()
    for name, text, descriptor in (
        (
            "hidraw0",
            "HID_ID=0003:0000256F:0000C635\nHID_NAME=SpaceMouse Compact\n",
            b"\5\1\x09\x08",
        ),
        ("hidraw1", "HID_ID=0003:0000046D:0000C52B\n", b"\5\1\x09\x02"),
        ("hidraw2", "HID_NAME=of nothing\n", b""),
    ):
        folder = system / name / "device"
        folder.mkdir(parents=True)
        (folder / "uevent").write_text(text)
        (folder / "report_descriptor").write_bytes(descriptor)
    found = list_hid(system, devices)
    assert [(d.vendor, d.product, d.six_axes) for d in found] == [
        (0x256F, 0xC635, True),
        (0x046D, 0xC52B, False),
    ]
    os.mkfifo(found[0].node)
    writer = os.open(found[0].node, os.O_RDWR)
    port = HidrawPort(found[0].node)
    assert port.read() is None
    os.write(writer, PUSH)
    assert port.read() == PUSH
    os.close(writer)
    with pytest.raises(OSError, match="gone"):
        port.read()
    port.close()
