"""The terminal that a program was started from."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from collections.abc import Iterator


def terminal_name() -> str:
    """Its device file; empty: there is none."""
    try:
        return os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):
        return ""


@contextlib.contextmanager
def kept_terminal() -> Iterator[None]:
    """Puts its settings back at the end, whatever a node that was killed left behind."""
    try:
        file = sys.stdin.fileno()
        before = termios.tcgetattr(file)
    except (OSError, ValueError, termios.error):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal itself is gone
            termios.tcsetattr(file, termios.TCSANOW, before)
