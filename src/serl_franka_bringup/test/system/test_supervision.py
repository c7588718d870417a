"""What becomes of a run whose supervisor is killed or interrupted, and of nodes that come late."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from serl_command import DEADLINE, NODES, node_processes, wait_for

from serl_controllers.domain import Domain
from serl_franka_bringup.executable import find_executable
from serl_franka_bringup.log_audit import online_steps
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.ros_monitor import Monitor
from serl_learner.ros_log import read_episode


@pytest.fixture
def domain(tmp_path):
    """A ROS domain that the test shares with the run it starts."""
    chosen = Domain(tmp_path, environment={})
    yield chosen.id
    chosen.close()


def episodes_of(directory: Path) -> list[Path]:
    return sorted(directory.glob("runs/tiny/*/episodes/*.mcap"))


def test_a_run_whose_supervisor_was_killed_goes_on_when_it_is_started_again(start, tmp_path):
    words = ("run", "tiny.yaml", "--max-steps", "600", "--json", "run.json")
    first = start(*words)
    wait_for(lambda: len(episodes_of(tmp_path)) >= 2, "two episodes in the log")
    first.process.send_signal(signal.SIGKILL)
    wait_for(lambda: not node_processes(tmp_path), "the nodes to die with their supervisor")
    assert not (tmp_path / "run.json").exists()
    kept = {path.name: path.read_bytes() for path in episodes_of(tmp_path)}

    again = start(*words)
    assert again.end() == 0, again.output.read_text()
    assert again.said("resuming ")
    logged = [read_episode(path) for path in episodes_of(tmp_path)]
    assert len({episode.session for episode in logged}) == 2
    assert sum(online_steps(episode.records) for episode in logged) >= 600
    for name, content in kept.items():
        (path,) = (path for path in episodes_of(tmp_path) if path.name == name)
        assert path.read_bytes() == content


def test_a_learner_that_is_killed_while_it_imports_is_started_again(start, tmp_path):
    run = start("run", "tiny.yaml", "--max-steps", "60", "--episodes", "1")
    wait_for(lambda: "learner" in node_processes(tmp_path), "the learner to start")
    os.kill(node_processes(tmp_path)["learner"], signal.SIGKILL)
    assert run.end() == 0, run.output.read_text()
    assert run.said("learner died (killed by SIGKILL), restarted in 1 s")


def test_a_run_stops_in_five_seconds_while_the_learner_compiles(start, tmp_path, domain):
    big = ("learner.utd_ratio:=8", "learner.batch_size:=256", "learner.agent.hidden:=[256, 256]")
    environment = {
        "ROS_DOMAIN_ID": str(domain),
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "empty"),  # nothing is compiled yet
    }
    run = start("run", "tiny.yaml", *big, **environment)
    progress = Progress(time.monotonic())
    with Monitor(progress, domain) as monitor:

        def compiles() -> bool:
            monitor.listen(0.1)
            assert run.process.poll() is None, run.output.read_text()
            return progress.phase("learner") == "compiling"

        wait_for(compiles, "the learner to compile")
        begin = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 130
        assert time.monotonic() - begin < 5.0
    assert not node_processes(tmp_path)


def test_a_second_learner_on_the_same_log_is_refused(start, tmp_path):
    run = start("run", "tiny.yaml", "actor.job.max_env_steps:=1000000")  # until it is killed
    wait_for(lambda: set(node_processes(tmp_path)) == NODES, "the nodes to start")
    run.wait_until_said("demonstrations")
    (parameters,) = tmp_path.glob("runs/tiny/*/params/learner.yaml")
    executable = find_executable("serl_learner", "learner_node")
    second = subprocess.run(
        [executable, "--ros-args", "-r", "__node:=learner", "--params-file", parameters],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    learner = node_processes(tmp_path)["learner"]
    assert second.returncode == 1
    assert f"written to by another learner (process {learner})" in second.stderr
    assert run.process.poll() is None


def test_a_learner_that_starts_late_is_waited_for(start, domain):
    environment = {"ROS_DOMAIN_ID": str(domain)}
    robot = start("run", "tiny.yaml", "--roles", "robot", "--runs", "robot", **environment)
    robot.wait_until_said("actor waits for the learner")
    learner = start("run", "tiny.yaml", "--roles", "learner", "--runs", "learner", **environment)
    assert robot.end() == 0, robot.output.read_text()
    assert learner.process.poll() is None
    learner.process.send_signal(signal.SIGINT)
    assert learner.end() == 130
