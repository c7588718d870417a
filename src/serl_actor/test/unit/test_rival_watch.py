"""Two actors of one name: they agree on who came second; the dead are no rivals."""

from __future__ import annotations

import subprocess
import sys

import pytest

from serl_actor.rival_watch import STRIKES, WINDOW, RivalWatch
from serl_learner.process_lock import AlreadyRunning, ProcessLock

FIRST, SECOND = b"1" * 16, b"2" * 16


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def hear(watch: RivalWatch, sessions: list[bytes], clock: Clock, step: float = 0.1):
    found = None
    for session in sessions:
        clock.now += step
        found = watch.hear("actor", session) or found
    return found


def test_both_find_the_other_and_agree_on_who_came_first():
    clock = Clock()
    heard = [FIRST, *[SECOND, FIRST] * (STRIKES + 1)]
    first = RivalWatch("actor", FIRST, clock)
    second = RivalWatch("actor", SECOND, clock)
    assert hear(first, heard, clock) == SECOND
    assert hear(second, heard, clock) == FIRST
    assert second.was_here_before(FIRST)
    assert not first.was_here_before(SECOND)


def test_case_06_a_dead_predecessor_is_no_rival():
    clock = Clock()
    watch = RivalWatch("actor", SECOND, clock)
    heard = [FIRST] * 20 + [SECOND] * 5 + [FIRST] + [SECOND] * 20
    assert hear(watch, heard, clock) is None


def test_learners_that_begin_anew_speak_of_old_sessions_now_and_then():
    clock = Clock()
    watch = RivalWatch("actor", SECOND, clock)
    assert hear(watch, [SECOND, FIRST] * 50, clock, step=WINDOW / STRIKES) is None


def test_actors_of_other_names_are_none_of_its_business():
    clock = Clock()
    watch = RivalWatch("actor", SECOND, clock)
    for _ in range(50):
        clock.now += 0.1
        watch.hear("actor", SECOND)
        assert watch.hear("other", FIRST) is None


def test_a_lock_is_held_by_one_process_and_named(tmp_path):
    path = tmp_path / "actor.lock"
    lock = ProcessLock(path, "actor 'actor'")
    with pytest.raises(AlreadyRunning, match=r"actor 'actor' is running already: process \d+"):
        ProcessLock(path, "actor 'actor'")
    lock.close()
    ProcessLock(path, "actor 'actor'").close()


def test_case_06_the_lock_of_a_killed_process_is_free(tmp_path):
    path = tmp_path / "actor.lock"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from serl_learner.process_lock import ProcessLock\n"
        "lock = ProcessLock(Path(sys.argv[1]), 'it'); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(AlreadyRunning, match=str(process.pid)):
            ProcessLock(path, "it")
        process.kill()
        process.wait()
    ProcessLock(path, "it").close()
