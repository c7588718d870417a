"""Training gives way to whatever controls a robot on the same machine."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICENESS = 10
_AUTOGROUP = Path("/proc/self/autogroup")
_THREADS = Path("/proc/self/task")


def give_way() -> None:
    """Makes this process nice, and its session if it has one of its own: between sessions Linux
    shares the processor by them first (sched(7), autogroup)."""
    os.nice(NICENESS)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # a kernel without
            _AUTOGROUP.write_text(str(NICENESS))


def spare_cores(count: int) -> None:
    """Leaves the first `count` of the cores that this process may use to others; one it keeps.

    A core on which somebody else computes is free only after milliseconds, however nice they are.
    """
    cores = sorted(os.sched_getaffinity(0))
    kept = cores[min(count, len(cores) - 1) :]
    for thread in _THREADS.iterdir():
        with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
            os.sched_setaffinity(int(thread.name), kept)
