"""The supervisor against real, tiny processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serl_franka_bringup.respawn import Respawn
from serl_franka_bringup.supervisor import Program, Supervisor

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = (
    "import signal, time\n"
    "for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "time.sleep(60)"
)
DEADLINE = 20.0


def program(name: str, code: str, **respawn) -> Program:
    return Program(name, (sys.executable, "-S", "-c", code), respawn=Respawn(**respawn))


def wait_for(condition, deadline: float = DEADLINE):
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("condition not met in time")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def collect_deaths(supervisor: Supervisor, count: int):
    deaths = []

    def enough():
        deaths.extend(supervisor.poll())
        return len(deaths) >= count

    wait_for(enough)
    return deaths


def test_a_death_is_told_once_with_its_last_lines(tmp_path):
    code = "print('begun'); raise SystemExit('disk is full')"
    with Supervisor([program("learner", code)], tmp_path) as supervisor:
        supervisor.start()
        (death,) = collect_deaths(supervisor, 1)
        assert (death.name, death.code, death.restart_in) == ("learner", 1, None)
        assert death.last_lines == ("begun", "disk is full")
        assert str(death).startswith("learner died (exit code 1), not restarted; log: ")
        assert supervisor.poll() == []
        assert supervisor.pids() == {}


def test_a_signal_is_named(tmp_path):
    with Supervisor([program("sim", SLEEP)], tmp_path) as supervisor:
        supervisor.start()
        os.kill(supervisor.pids()["sim"], signal.SIGKILL)
        (death,) = collect_deaths(supervisor, 1)
        assert "killed by SIGKILL" in str(death)


def test_respawn_stops_at_its_limit_with_growing_delays(tmp_path):
    respawned = program("actor", "raise SystemExit(3)", limit=2, first_delay=0.05)
    with Supervisor([respawned], tmp_path) as supervisor:
        supervisor.start()
        deaths = collect_deaths(supervisor, 3)
        assert [death.restart_in for death in deaths] == [0.05, 0.1, None]
        assert supervisor.pids() == {}


def test_what_never_was_ready_is_not_respawned(tmp_path):
    respawned = program("actor", "raise SystemExit(3)", limit=2, first_delay=0.05)
    with Supervisor([respawned], tmp_path) as supervisor:
        supervisor.start()
        deaths = []
        wait_for(lambda: deaths.extend(supervisor.poll(lambda name, since: False)) or deaths)
        assert [death.restart_in for death in deaths] == [None]


def kill_and_restart(supervisor: Supervisor, is_up=lambda name, since: True, work: int = 0):
    """Kills "learner", once it was looked at; its death, after the restart if there is one."""
    supervisor.poll(is_up, work)
    os.kill(supervisor.pids()["learner"], signal.SIGKILL)
    deaths = []
    wait_for(lambda: deaths.extend(supervisor.poll(is_up, work)) or deaths)
    if deaths[0].restart_in is not None:
        wait_for(lambda: supervisor.poll(is_up, work) or supervisor.pids())
    return deaths[0]


def test_what_is_killed_while_it_starts_is_respawned_up_to_the_limit(tmp_path):
    respawned = program("learner", SLEEP, limit=2, first_delay=0.0)
    with Supervisor([respawned], tmp_path) as supervisor:
        supervisor.start()
        deaths = [kill_and_restart(supervisor, lambda name, since: False) for _ in range(3)]
        assert [death.restart_in is None for death in deaths] == [False, False, True]


def test_what_takes_up_its_work_again_is_restarted_for_ever(tmp_path):
    """Far more deaths in quick succession than the limit, each after recovery."""
    respawned = program("learner", SLEEP, limit=2, first_delay=0.0)
    with Supervisor([respawned], tmp_path) as supervisor:
        supervisor.start()
        deaths = [kill_and_restart(supervisor, work=count + 1) for count in range(8)]
        assert all(death.restart_in is not None for death in deaths)


@pytest.mark.parametrize("comes_up", [True, False], ids=["no work done", "never up again"])
def test_deaths_without_recovery_are_limited(tmp_path, comes_up):
    """The first process was up and worked; those after it come up in vain, or not at all."""
    starts = []

    def is_up(name, since):
        starts.append(since)
        return comes_up or since == starts[0]

    respawned = program("learner", SLEEP, limit=2, first_delay=0.0)
    with Supervisor([respawned], tmp_path) as supervisor:
        supervisor.start()
        deaths = [
            kill_and_restart(supervisor, is_up, work=5 if comes_up else 5 + count)
            for count in range(3)
        ]
        assert [death.restart_in is None for death in deaths] == [False, False, True]


def test_the_wait_grows_only_in_quick_succession(tmp_path):
    now = [0.0]
    respawned = program("learner", SLEEP, limit=1, first_delay=1.0, longest_delay=15.0)
    with Supervisor([respawned], tmp_path, clock=lambda: now[0]) as supervisor:
        supervisor.start()
        waits = []
        for count, lived in enumerate((1.0, 2.0, 3.0, 16.0, 1.0)):
            now[0] += lived
            supervisor.poll(work=count + 1)
            os.kill(supervisor.pids()["learner"], signal.SIGKILL)
            (death,) = wait_for(lambda count=count: supervisor.poll(work=count + 1))
            waits.append(death.restart_in)
            now[0] += death.restart_in
            supervisor.poll(work=count + 1)
        assert waits == [1.0, 2.0, 4.0, 1.0, 2.0]


def test_when_a_program_was_started_is_known_while_it_runs(tmp_path):
    now = [7.0]
    respawned = program("learner", SLEEP, limit=1, first_delay=1.0)
    with Supervisor([respawned], tmp_path, clock=lambda: now[0]) as supervisor:
        assert supervisor.started_at("learner") is None
        supervisor.start()
        assert supervisor.started_at("learner") == 7.0
        os.kill(supervisor.pids()["learner"], signal.SIGKILL)
        collect_deaths(supervisor, 1)
        assert supervisor.started_at("learner") is None


def test_a_clean_exit_is_not_respawned(tmp_path):
    with Supervisor([program("actor", "pass", limit=5)], tmp_path) as supervisor:
        supervisor.start()
        (death,) = collect_deaths(supervisor, 1)
        assert (death.code, death.restart_in) == (0, None)


def test_a_long_life_forgives_earlier_deaths(tmp_path):
    now = [0.0]
    respawned = program("actor", SLEEP, limit=1, first_delay=0.0, forget_after=60.0)
    with Supervisor([respawned], tmp_path, clock=lambda: now[0]) as supervisor:
        supervisor.start()
        for _ in range(3):
            now[0] += 61.0
            os.kill(supervisor.pids()["actor"], signal.SIGKILL)
            (death,) = collect_deaths(supervisor, 1)
            assert death.restart_in == 0.0
            wait_for(lambda: supervisor.poll() or supervisor.pids())


def test_stop_leaves_nothing_within_five_seconds(tmp_path):
    programs = [program("polite", SLEEP), program("stubborn", STUBBORN)]
    supervisor = Supervisor(programs, tmp_path)
    supervisor.start()
    logs = [tmp_path / f"{p.name}.log" for p in programs]
    wait_for(lambda: all("up" in log.read_text() for log in logs))
    pids = supervisor.pids().values()
    begin = time.monotonic()
    codes = supervisor.stop()
    assert time.monotonic() - begin < 5.0
    assert codes == {"polite": -signal.SIGINT, "stubborn": -signal.SIGKILL}
    assert not any(is_alive(pid) for pid in pids)


def test_a_background_job_interrupts_its_nodes_too(tmp_path):
    """A shell has its background jobs ignore SIGINT, and what they start inherits that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        supervisor = Supervisor([program("sim", SLEEP)], tmp_path, clock=lambda: 0.0)
        supervisor.start()
        wait_for(lambda: "up" in (tmp_path / "sim.log").read_text())
        pid = supervisor.pids()["sim"]
        supervisor.stop()  # its clock stands still: there is no second, harder signal
        assert not is_alive(pid)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_hurry_skips_the_patience(tmp_path):
    supervisor = Supervisor([program("stubborn", STUBBORN)], tmp_path)
    supervisor.start()
    wait_for(lambda: "up" in (tmp_path / "stubborn.log").read_text())
    begin = time.monotonic()
    supervisor.stop(hurry=lambda: True)
    assert time.monotonic() - begin < 2.0


def test_grandchildren_go_too(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "print('child', child.pid, flush=True)\n"
        "time.sleep(60)"
    )
    supervisor = Supervisor([program("sim", code)], tmp_path)
    supervisor.start()
    log = tmp_path / "sim.log"
    child = int(wait_for(lambda: re.search(r"child (\d+)\n", log.read_text()))[1])
    assert is_alive(child)
    supervisor.stop()
    wait_for(lambda: not is_alive(child))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_children_die_with_their_parent(tmp_path, how):
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from serl_franka_bringup.supervisor import Program, Supervisor\n"
        f"program = Program('sim', (sys.executable, '-S', '-c', {STUBBORN!r}))\n"
        f"supervisor = Supervisor([program], Path({str(tmp_path)!r}))\n"
        "supervisor.start()\n"
        "print(supervisor.pids()['sim'], flush=True)\n"
        "time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    wait_for(lambda: "up" in (tmp_path / "sim.log").read_text())
    assert is_alive(child)
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not is_alive(child))


def test_a_program_that_cannot_run_says_so(tmp_path):
    with Supervisor([Program("sim", ("/nowhere/sim_node",))], tmp_path) as supervisor:
        supervisor.start()
        (death,) = collect_deaths(supervisor, 1)
        assert death.code == 127
        assert "cannot run /nowhere/sim_node" in death.last_lines[-1]
