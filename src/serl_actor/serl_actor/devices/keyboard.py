"""Keys of a terminal as a device; a terminal tells of presses only, so each holds for a moment."""

from __future__ import annotations

import contextlib
import os
import re
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from serl_actor.devices.device import DeviceReading

MOVE = 0.15
"""How long a key moves after it was pressed, or repeated [s]."""

PRESS = 0.8
"""The same of other keys [s]: longer than a held key takes to repeat, so that it is one press."""

SPEED = 0.5
"""Of the axes, until a digit is pressed."""

_X, _Y, _Z, _RX, _RY, _RZ = range(6)
_MOVES = {
    **{"w": (_X, 1), "s": (_X, -1), "a": (_Y, 1), "d": (_Y, -1), "r": (_Z, 1), "f": (_Z, -1)},
    **{"l": (_RX, 1), "j": (_RX, -1), "i": (_RY, 1), "k": (_RY, -1), "u": (_RZ, 1), "o": (_RZ, -1)},
    **{"up": (_X, 1), "down": (_X, -1), "left": (_Y, 1), "right": (_Y, -1)},
    **{"page_up": (_Z, 1), "page_down": (_Z, -1)},
}
_NAMES = {
    **{"\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right"},
    **{"\x1bOA": "up", "\x1bOB": "down", "\x1bOD": "left", "\x1bOC": "right"},
    **{"\x1b[5~": "page_up", "\x1b[6~": "page_down"},
    **{" ": "space", "\x1b": "esc", "\r": "enter", "\n": "enter", "\x7f": "backspace"},
    **{"\b": "backspace", "\t": "tab"},
}
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
_PART = re.compile(r"\x1b[\[O][0-9;]*\Z")

HELP = """\
w s a d, arrows  away, towards you, left, right   r f, page up/down  up, down
i k  tilt away, towards you    j l  tilt left, right    u o  turn left, right
1 .. 9, 0  speed    c v  close, open the gripper    e  engage, in modes hold and toggle
space  pause and go on    esc  stop    enter  success    backspace  no success"""


class KeySource(Protocol):
    """Where typed characters come from."""

    def read(self) -> bytes:
        """What was typed and not yet read; empty: nothing. OSError: there is no terminal."""
        ...

    def close(self) -> None:
        """Leaves the terminal as it was."""
        ...


class Terminal:
    """Implements KeySource: a terminal that gives keys at once and does not show them.

    Ctrl-C still interrupts. `close` puts everything back.
    """

    def __init__(self, path: Path) -> None:
        """OSError: it is no terminal, or may not be read."""
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            self._before = termios.tcgetattr(self._file)
            raw = termios.tcgetattr(self._file)
            raw[3] &= ~(termios.ICANON | termios.ECHO)
            raw[6][termios.VMIN], raw[6][termios.VTIME] = 0, 0
            termios.tcsetattr(self._file, termios.TCSANOW, raw)
        except termios.error as error:
            os.close(self._file)
            raise OSError(f"{path} is no terminal ({error})") from error

    def read(self) -> bytes:
        """As KeySource."""
        try:
            return os.read(self._file, 1024)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """As KeySource."""
        with contextlib.suppress(termios.error):  # the terminal itself is gone
            termios.tcsetattr(self._file, termios.TCSANOW, self._before)
        os.close(self._file)


class Keyboard:
    """Implements Device.

    Attributes:
      problem: as of Device.
      speed: deflection of a key that moves, 0.1 .. 1; set by the digits.
    """

    def __init__(self, source: KeySource, clock: Callable[[], float]) -> None:
        self._source: KeySource | None = source
        self._clock = clock
        self._rest = ""
        self._pressed: dict[str, float] = {}
        self.speed = SPEED
        self.problem = ""

    def read(self) -> DeviceReading | None:
        """As Device."""
        if self._source is None:
            return None
        now = self._clock()
        try:
            typed = self._source.read()
        except OSError as error:
            self.close()
            self.problem = f"the terminal is gone ({error})"
            return None
        for key in self._keys(typed):
            self._press(key, now)
        self._pressed = {
            key: at
            for key, at in self._pressed.items()
            if now - at < (MOVE if key in _MOVES else PRESS)
        }
        axes = np.zeros(6)
        for key in self._pressed.keys() & _MOVES.keys():
            axis, sign = _MOVES[key]
            axes[axis] += sign * self.speed
        return DeviceReading(np.clip(axes, -1.0, 1.0), frozenset(self._pressed) - set(_MOVES), now)

    def close(self) -> None:
        """As Device: the terminal is as before."""
        if self._source is not None:
            self._source.close()
        self._source = None

    def _keys(self, typed: bytes) -> list[str]:
        """Names of what was typed; the beginning of a sequence waits for its end."""
        text = self._rest + typed.decode("utf-8", "replace")
        part = _PART.search(text)
        self._rest = part.group() if part and typed else ""
        if self._rest:
            text = text[: -len(self._rest)]
        return [_NAMES.get(key, key.lower()) for key in _KEY.findall(text)]

    def _press(self, key: str, now: float) -> None:
        if key.isdecimal() and key.isascii():
            self.speed = int(key) / 10.0 or 1.0
        else:
            self._pressed[key] = now
