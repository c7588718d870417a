"""Gamepads by joy's numbers and by the kernel's; keys of a terminal, on a pty."""

from __future__ import annotations

import os
import struct
import termios
from pathlib import Path

import numpy as np
import pytest

from serl_actor.devices.evdev_port import EvdevPort, find_gamepads
from serl_actor.devices.gamepad import (
    AnyGamepad,
    GamepadMap,
    GamepadMapConfig,
    JoyGamepad,
    PortGamepad,
)
from serl_actor.devices.keyboard import MOVE, PRESS, Keyboard, Terminal

REST = (0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def moved(**values: float) -> list[float]:
    """Axes of an Xbox-like gamepad with some of them, `a<number>`, elsewhere."""
    axes = list(REST)
    for name, value in values.items():
        axes[int(name[1:])] = value
    return axes


def test_sticks_and_triggers_move_what_the_table_says():
    pad = GamepadMap(GamepadMapConfig())
    np.testing.assert_array_equal(pad.axes(REST), np.zeros(6))
    np.testing.assert_array_equal(pad.axes(moved(a1=1.0, a0=0.5)), (1, 0.5, 0, 0, 0, 0))
    np.testing.assert_array_equal(pad.axes(moved(a5=-1.0)), (0, 0, 1, 0, 0, 0))
    np.testing.assert_array_equal(pad.axes(moved(a2=0.0)), (0, 0, -0.5, 0, 0, 0))
    np.testing.assert_array_equal(pad.axes(moved(a4=1, a3=-1, a6=1)), (0, 0, 0, -1, 1, -1))


def test_a_trigger_that_was_never_pulled_is_not_half_pulled():
    pad = GamepadMap(GamepadMapConfig())
    np.testing.assert_array_equal(pad.axes(np.zeros(8)), np.zeros(6))
    np.testing.assert_array_equal(pad.axes(moved(a2=0.0)), np.zeros(6))  # up was touched, down not
    np.testing.assert_array_equal(pad.axes(moved(a2=-1.0)), (0, 0, -1, 0, 0, 0))


def test_gamepads_with_fewer_axes_or_more_buttons_are_served():
    pad = GamepadMap(GamepadMapConfig(buttons=("a",)))
    np.testing.assert_array_equal(pad.axes((0.5,)), (0, 0.5, 0, 0, 0, 0))
    assert pad.buttons([1, 0, 1]) == {"a", "button_2"}


@pytest.mark.parametrize(
    ("values", "wrong"), [({"x": -1}, "x is -1"), ({"inverted": ("up",)}, "inverted names up")]
)
def test_wrong_maps_are_refused(values, wrong):
    with pytest.raises(ValueError, match=wrong):
        GamepadMapConfig(**values)


def test_a_joy_node_goes_before_the_machines_own_gamepad():
    now = [0.0]
    config, clock = GamepadMapConfig(), lambda: now[0]
    joy = JoyGamepad(config, clock)

    class Port:
        closed = False

        def read(self):
            return [0.0, 1.0], [0]

        def close(self):
            self.closed = True

    port = Port()
    pad = AnyGamepad(joy, PortGamepad(config, clock, lambda: port), clock)
    assert pad.read().axes[0] == 1.0
    joy.hear(moved(a0=1.0), [1])
    assert pad.read().axes[1] == 1.0
    assert pad.read().buttons == {"a"}
    assert port.closed
    now[0] = 0.9
    assert pad.read().stamp == 0.0  # a joy node that is silent: its stamp grows old
    now[0] = 1.0
    assert pad.read().axes[0] == 1.0


def test_a_gamepad_that_is_unplugged_is_looked_for_again():
    now, plugged = [0.0], [True]

    class Port:
        def read(self):
            if not plugged[0]:
                raise OSError(19, "No such device")
            return [1.0], []

        def close(self): ...

    pad = PortGamepad(GamepadMapConfig(), lambda: now[0], lambda: Port() if plugged[0] else None)
    assert pad.read() is not None
    plugged[0] = False
    assert pad.read() is None
    assert "No such device" in pad.problem
    now[0] = 0.6
    assert pad.read() is None
    plugged[0], now[0] = True, 1.2
    assert pad.read() is not None
    assert pad.problem == ""


def kernel(number: int) -> bytes:
    """What the kernel answers for a gamepad of two sticks' axes, a trigger, and three buttons."""
    if number == 0x23:  # which axes
        return struct.pack("<Q", 1 << 0 | 1 << 1 | 1 << 2)
    if number == 0x21:  # which keys: the space bar (57), A, B and X
        return sum(1 << code for code in (57, 0x130, 0x131, 0x133)).to_bytes(96, "little")
    if number == 0x18:  # which are pressed
        return (1 << 57 | 1 << 0x133).to_bytes(96, "little")
    value, low, high = {0x40: (-32768, -32768, 32767), 0x41: (0, -1, 1), 0x42: (0, 0, 255)}[number]
    return struct.pack("<6i", value, low, high, 16, 128, 0)


def test_a_gamepad_of_the_kernel_counts_like_joy(tmp_path: Path):
    node = tmp_path / "event0"
    node.touch()

    def ioctl(file: int, request: int, answer: bytearray) -> None:
        assert request >> 30 == 2
        assert request >> 16 & 0x3FFF == len(answer)
        said = kernel(request & 0xFF)
        answer[: len(said)] = said

    port = EvdevPort(node, ioctl)
    axes, buttons = port.read()
    assert axes == [1.0, 0.0, 1.0]  # fully left; at rest; a trigger that is let go
    assert buttons == [0, 0, 1]
    port.close()


def test_gamepads_are_found_by_their_button(tmp_path: Path):
    for name, keys in (
        ("event0", "10000 0 0 0 0 fffffffffffffffe"),
        ("event1", "fffe"),
        ("event7", "7cdb000000000000 0 0 0 0"),
    ):
        folder = tmp_path / name / "device" / "capabilities"
        folder.mkdir(parents=True)
        (folder / "key").write_text(keys + "\n")
    assert find_gamepads(tmp_path, Path("/dev/input")) == [Path("/dev/input/event7")]


class Desk:
    """A pty, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.master, self.slave = os.openpty()
        self.path = Path(os.ttyname(self.slave))
        self.before = termios.tcgetattr(self.slave)
        self.keyboard = Keyboard(Terminal(self.path), lambda: self.now)

    def type(self, keys: bytes):
        os.write(self.master, keys)
        return self.keyboard.read()

    def close(self) -> None:
        self.keyboard.close()
        for file in (self.master, self.slave):
            os.close(file)


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.close()


def test_keys_move_for_a_moment_and_repetition_goes_on(desk):
    np.testing.assert_array_equal(desk.type(b"w").axes, (0.5, 0, 0, 0, 0, 0))
    desk.now = 0.1
    np.testing.assert_array_equal(desk.type(b"wu").axes, (0.5, 0, 0, 0, 0, 0.5))
    desk.now = 0.11 + MOVE
    assert not desk.keyboard.read().axes.any()


def test_arrows_digits_and_a_sequence_in_two_parts(desk):
    np.testing.assert_array_equal(desk.type(b"0\x1b[D").axes, (0, 1, 0, 0, 0, 0))
    desk.now = 1.0
    assert desk.type(b"3\x1b[").buttons == frozenset()
    np.testing.assert_allclose(desk.type(b"6~").axes, (0, 0, -0.3, 0, 0, 0))
    assert desk.type(b"\x1b").buttons == {"esc"}


def test_a_held_key_is_one_press_although_it_repeats_late(desk):
    assert desk.type(b" ").buttons == {"space"}
    desk.now = 0.66  # the first repetition of a held key
    assert desk.keyboard.read().buttons == {"space"}
    desk.type(b" ")
    desk.now = 0.67 + PRESS
    assert desk.keyboard.read().buttons == frozenset()


def test_the_terminal_is_quiet_meanwhile_and_afterwards_as_before(desk):
    during = termios.tcgetattr(desk.slave)
    assert not during[3] & (termios.ECHO | termios.ICANON)
    assert during[3] & termios.ISIG  # Ctrl-C works
    desk.keyboard.close()
    assert termios.tcgetattr(desk.slave) == desk.before
    assert desk.keyboard.read() is None


def test_what_is_no_terminal_is_refused(tmp_path: Path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(OSError, match="is no terminal"):
        Terminal(path)
