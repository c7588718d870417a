"""The killer against a real supervisor of tiny processes; time and messages are the test's."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from serl_franka_bringup.kill_plan import CHECKPOINT, DEMONSTRATIONS, STARTING, STEPS, Kill
from serl_franka_bringup.killer import Killer
from serl_franka_bringup.progress import Progress, Status
from serl_franka_bringup.respawn import Respawn
from serl_franka_bringup.sightings import Sightings
from serl_franka_bringup.supervisor import Program, Supervisor
from serl_franka_bringup.write_watch import WriteWatch

SLEEP = (sys.executable, "-S", "-c", "import time; time.sleep(60)")
RESPAWN = Respawn(limit=3, first_delay=1.0)
KINDS = ("sim", "learner", "actor")


class Run:
    """A session's loop whose clock stands still between two rounds of 0.1 s."""

    def __init__(self, plan: Sequence[Kill], directory: Path) -> None:
        self.now = 100.0
        programs = [Program(kind, SLEEP, respawn=RESPAWN) for kind in KINDS]
        self.supervisor = Supervisor(programs, directory / "logs", clock=lambda: self.now)
        self.progress = Progress(self.now)
        self.seen = Sightings()
        self.seq = 0
        self.checkpoints = directory / "checkpoints"
        self.checkpoints.mkdir()
        watch = WriteWatch(self.checkpoints)
        self.killer = Killer(plan, self.seen, watch, 60.0, lambda: self.now, self.wait)
        self.supervisor.start()

    def wait(self, duration: float) -> None:
        self.now += duration

    def say(self, phase: str, *kinds: str) -> None:
        """These nodes say that they are at it; the actor's phase is the job's."""
        for kind in kinds or KINDS:
            self.progress.add_status(kind, Status(phase, received_at=self.now))

    def step(self) -> None:
        self.seen.add_record("actor", "aa" * 16, self.seq, True, self.now)
        self.seq += 1

    def answer(self, updates: int) -> None:
        self.seen.add_ack("actor", "aa" * 16, self.seq, 0, updates, True, self.now)

    def go(self, rounds: int = 1) -> str:
        """Rounds of the loop; the reason to stop."""
        for _ in range(rounds):
            self.now += 0.1
            deaths = self.supervisor.poll(self.progress.is_up, self.progress.work)
            if reason := self.killer.attend(self.supervisor, self.progress, deaths):
                return reason
        return ""

    def see_death(self, kind: str) -> None:
        """The kernel needs a moment to end a process, and the clock stands still for it."""
        os.waitid(os.P_PID, self.supervisor.pids()[kind], os.WEXITED | os.WNOWAIT)
        self.go()

    @property
    def kills(self) -> list[str]:
        return [survival.kind for survival in self.killer.survivals]


@pytest.fixture
def begin(tmp_path):
    runs = []

    def begin(*plan: Kill) -> Run:
        runs.append(Run(plan, tmp_path))
        return runs[-1]

    yield begin
    for run in runs:
        run.supervisor.stop()


def test_nothing_is_killed_before_it_came_up_and_the_count_was_reached(begin):
    run = begin(Kill("sim", STEPS, 50, 0.0))
    run.progress.add_metrics("actor", {"env_steps": 60.0})
    run.go(5)
    assert run.kills == []  # no word of the sim yet
    run.say("training")
    run.progress.add_metrics("actor", {"env_steps": 49.0})
    run.go()
    assert run.kills == ["sim"]  # what was counted once stays so, over restarts of the actor


def test_a_node_is_killed_while_it_starts_and_need_only_come_up(begin):
    run = begin(Kill("learner", STARTING, 0, 0.3))
    run.go(5)
    assert run.kills == ["learner"]
    assert run.killer.survivals[0].moment == "starting"
    run.see_death("learner")
    run.go(12)
    assert run.killer.survivals[0].resumed is None
    run.say("loading", "learner")
    run.go()
    assert run.killer.survivals[0].resumed is not None


def test_a_kill_comes_its_delay_after_the_count(begin):
    run = begin(Kill("actor", DEMONSTRATIONS, 2, 0.75))
    run.say("demonstrations")
    run.progress.add_metrics("learner", {"demonstrations": 2.0})
    run.go()
    reached = run.now
    run.go(20)
    assert run.killer.survivals[0].killed_at == pytest.approx(reached + 0.75)
    assert run.killer.survivals[0].phase == "demonstrations"


def test_resumption_is_the_last_of_node_step_and_update_after_the_respawn(begin):
    run = begin(Kill("learner", STEPS, 0, 0.0), Kill("sim", STEPS, 0, 0.0))
    run.say("training")
    for _ in range(3):
        run.step()
    run.answer(updates=80)
    run.go()
    assert run.kills == ["learner"]
    assert run.killer.survivals[0].in_flight.unacknowledged == 3
    run.see_death("learner")
    run.go(12)
    born = run.supervisor.started_at("learner")
    assert born is not None
    run.now = born + 2.0
    run.say("loading", "learner")
    run.now = born + 3.0
    run.answer(updates=64)
    run.step()
    run.now = born + 4.0
    run.answer(updates=64)
    run.go(3)
    assert run.kills == ["learner"]  # no new update yet: no other kill
    run.now = born + 5.0
    run.answer(updates=72)
    run.go(2)
    assert run.kills == ["learner", "sim"]
    first = run.killer.survivals[0]
    assert (first.up, first.step, first.update) == pytest.approx((2.0, 3.0, 5.0))
    assert first.resumed == pytest.approx(5.0)


def test_before_training_no_update_is_waited_for(begin):
    run = begin(Kill("sim", DEMONSTRATIONS, 0, 0.0))
    run.say("demonstrations")
    run.go()
    run.see_death("sim")
    run.go(12)
    run.say("running", "sim")
    run.step()
    run.go()
    assert run.killer.survivals[0].update is None
    assert run.killer.survivals[0].resumed is not None


def test_a_checkpoint_kill_waits_for_a_write(begin):
    run = begin(Kill("learner", CHECKPOINT, 0, 0.01), Kill("learner", CHECKPOINT, 0, 0.01))
    run.say("training")
    run.go(5)
    assert run.kills == []
    left = run.checkpoints / "16.orbax-checkpoint-tmp"
    left.mkdir()
    run.go()
    assert run.killer.survivals[0].moment == "checkpoint write"
    run.see_death("learner")
    run.go(12)
    run.say("training")
    run.step()
    run.go(5)
    assert run.kills == ["learner"]  # what the killed one left is no write


def test_a_run_that_does_not_resume_is_ended_with_the_reason(begin):
    run = begin(Kill("sim", STEPS, 0, 0.0))
    run.say("training")
    run.go()
    reason = run.go(700)
    assert reason.startswith("not resumed 60 s after sim was killed")
