"""The launch file starts what the graph says."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_ros.actions import Node as NodeAction

import launch
from serl_franka_bringup import plan, ros_launch

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
