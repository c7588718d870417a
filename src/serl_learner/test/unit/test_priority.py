"""Who trains is nice: to others, and as a session if that is its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


CORES = """
import os, sys, threading
from serl_learner.priority import spare_cores
cores = set(map(int, sys.argv[2].split(",")))
os.sched_getaffinity = lambda _: cores
kept = {}
os.sched_setaffinity = lambda thread, given: kept.update({thread: list(given)})
done = threading.Event()
threading.Thread(target=done.wait).start()
spare_cores(int(sys.argv[1]))
done.set()
assert len(kept) == 2, kept
print(*min(kept.values()), "and", *max(kept.values()))
"""


@pytest.mark.parametrize(
    ("count", "cores", "kept"),
    [(0, "0,1", "0 1"), (1, "0,1", "1"), (1, "2,5,7", "5 7"), (1, "3", "3"), (9, "0,1,2", "2")],
)
def test_every_thread_leaves_the_first_cores_to_others_and_keeps_one(count, cores, kept):
    command = [sys.executable, "-c", CORES, str(count), cores]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{kept} and {kept}"
