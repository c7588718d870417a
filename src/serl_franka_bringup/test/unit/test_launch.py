"""The launch file starts what the graph says."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from launch.actions import ExecuteProcess, OpaqueCoroutine
from launch_ros.actions import Node as NodeAction

import launch
from serl_franka_bringup import plan, ros_launch, ros_launch_job, tied_exec
from serl_franka_bringup.graph import Node
from serl_franka_bringup.progress import Progress, Status
from serl_franka_bringup.respawn import Respawn

LAUNCH_FILES = sorted((Path(__file__).resolve().parents[2] / "launch").glob("*.launch.py"))


def start(task: str, given: dict[str, str]) -> list:
    context = launch.LaunchContext()
    *declared, function = ros_launch.task_actions(task)
    for action in declared:
        action.visit(context)
    context.launch_configurations.update(given)
    return function.visit(context)


def test_the_nodes_are_those_of_the_graph(tmp_path):
    given = {"seed": "2", "roles": "robot", "runs": str(tmp_path), "sim.scene.clearance": "0.001"}
    actions = [a for a in start("pcb", given) if isinstance(a, NodeAction)]
    pairs = [f"{name}:={value}" for name, value in given.items() if name != "runs"]
    nodes = plan.make_plan("pcb", pairs, tmp_path).nodes
    assert [(a.node_package, a.node_executable) for a in actions] == [
        (node.package, node.executable) for node in nodes
    ]
    assert (tmp_path / "pcb").exists()


def test_an_unknown_argument_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="unknown argument 'sed'"):
        start("pcb", {"sed": "2", "runs": str(tmp_path)})


@pytest.mark.parametrize("path", LAUNCH_FILES, ids=lambda path: path.name)
def test_every_launch_file_loads(path):
    source = launch.launch_description_sources.PythonLaunchDescriptionSource(str(path))
    description = source.get_launch_description(launch.LaunchContext())
    assert description.get_launch_arguments()


class FakeMonitor:
    """Hears what `said` holds, one status at a time."""

    said: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, progress: Progress, domain: int, namespace: str) -> None:
        self._progress = progress

    def listen(self, duration: float) -> None:
        time.sleep(0.02)
        if self.said:
            phase, detail = self.said.pop(0)
            self._progress.add_status("actor", Status(phase, detail=detail))

    def close(self) -> None:
        """Nothing to close."""


def run_launch(monkeypatch, codes: dict[str, str], said=(), **fields) -> tuple[int, list[str]]:
    """Exit code of a launch of Python programs, and the name of each process that ended."""
    monkeypatch.setattr(ros_launch_job, "Monitor", FakeMonitor)
    monkeypatch.setattr(FakeMonitor, "said", list(said))
    ended: list[str] = []

    def make(node: Node, on_exit) -> ExecuteProcess:
        def note(event, context):
            ended.append(node.name)
            return on_exit(event, context)

        return ExecuteProcess(cmd=[sys.executable, "-S", "-c", codes[node.name]], on_exit=note)

    nodes = [Node("", "", name, {}, "robot", **fields) for name in codes]
    job = ros_launch_job.LaunchJob(nodes, make)
    service = launch.LaunchService(noninteractive=True)
    watch = OpaqueCoroutine(coroutine=job.watch)
    service.include_launch_description(launch.LaunchDescription([*job.start(), watch]))
    return service.run(), ended


@pytest.fixture
def log():
    """What launch has said."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [launch.logging.get_logger(name) for name in ("launch", "launch.user")]
    for logger in loggers:
        logger.addHandler(handler)
    yield said
    for logger in loggers:
        logger.removeHandler(handler)


FOREVER = "import time; time.sleep(60)"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def test_the_job_ends_the_launch(monkeypatch):
    said = [("train", ""), ("done", "")]
    assert run_launch(monkeypatch, {"actor": FOREVER, "sim": FOREVER}, said)[0] == 0


def test_a_job_that_fails_is_an_exit_code(monkeypatch, log):
    said = [("train", ""), ("failed", "no demonstrations")]
    assert run_launch(monkeypatch, {"actor": FOREVER}, said)[0] == 1
    assert "no demonstrations" in "\n".join(log)


def test_drivers_alone_do_not_end_with_somebody_elses_job(monkeypatch):
    ends_by_itself = "import time; time.sleep(1.0)"
    said = [("done", "")]
    assert run_launch(monkeypatch, {"sim": ends_by_itself}, said)[0] == 1  # a vital node ended


def test_a_killed_node_is_restarted_and_the_launch_ends_when_it_stays_dead(monkeypatch, log):
    respawn = Respawn(limit=2, first_delay=0.01)
    code, ended = run_launch(monkeypatch, {"learner": KILLED, "sim": FOREVER}, respawn=respawn)
    assert (code, ended.count("learner")) == (1, 3)
    assert "learner died (exit code -9), not restarted" in "\n".join(log)


def test_a_launch_goes_on_without_a_node_that_only_shows(monkeypatch, log):
    said = [("train", "")] * 50 + [("done", "")]
    assert run_launch(monkeypatch, {"actor": FOREVER, "rviz2": KILLED}, said, vital=False)[0] == 0
    assert "the run goes on without rviz2" in "\n".join(log)


def test_nodes_die_with_launch(tmp_path):
    action = ros_launch.node_action(Node("serl_sim", "sim_node", "sim", {}, "robot"), tmp_path)
    prefix = "".join(part.text for part in action.process_description.prefix)
    assert shlex.split(prefix)[-2:] == [tied_exec.__file__, str(os.getpid())]
