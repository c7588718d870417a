"""Training gives way to whatever controls a robot on the same machine."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICENESS = 10
_AUTOGROUP = Path("/proc/self/autogroup")


def give_way() -> None:
    """Makes this process nice, and its session if it has one of its own: between sessions Linux
    shares the processor by them first (sched(7), autogroup)."""
    os.nice(NICENESS)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # a kernel without
            _AUTOGROUP.write_text(str(NICENESS))
