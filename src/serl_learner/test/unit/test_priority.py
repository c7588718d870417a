"""Who trains is nice: to others, and as a session if that is its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SAY = """
import os
from pathlib import Path
from serl_learner.priority import NICENESS, give_way
before = os.nice(0)
give_way()
group = Path("/proc/self/autogroup")
print(os.nice(0) - before == min(NICENESS, 19 - before))
said = group.read_text().split() if group.exists() else [NICENESS]
print(said[-1] if said else "in no group")  # a session older than the kernel's groups has none
"""


def said(own_session: bool) -> list[str]:
    command = [sys.executable, "-c", SAY]
    done = subprocess.run(
        command, start_new_session=own_session, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_process_with_a_session_of_its_own_makes_it_nice():
    assert said(own_session=True) == ["True", "10"]


def test_a_session_that_others_share_stays_as_it_is():
    group = Path("/proc/self/autogroup")
    before = group.read_text() if group.exists() else ""
    assert said(own_session=False)[0] == "True"
    assert (group.read_text() if group.exists() else "") == before
