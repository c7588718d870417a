"""From a task's name and a user's arguments to the nodes and the directory of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serl_franka_bringup import graph
from serl_franka_bringup.availability import usable
from serl_franka_bringup.graph import Arguments, Node
from serl_franka_bringup.rewards import complete, rewards_path
from serl_franka_bringup.robots import DRIVERS
from serl_franka_bringup.run_directory import demonstrations_path, run_path
from serl_franka_bringup.task import TaskFile, find_task_file, load_task

RECORDING = "recording"
"""Directory of what recording leaves beside the episodes: logs, parameters."""

# What may differ between two runs of the same directory: where, how long, which part.
_NOT_CONFIGURATION = dataclasses.asdict(Arguments())
for _name in ("observation", "reward", "reward_model", "robot", "robot_ip", "hardware"):
    del _NOT_CONFIGURATION[_name]
for _name in ("learn", "warm_start", "imitate"):
    del _NOT_CONFIGURATION[_name]
_NOT_CONFIGURATION["cameras"] = False  # their file is the robot's: the learner's machine has none
# Parameters by node that change nothing that is learned; a name with a dot at its end is a group.
_NOT_LEARNING = {
    "reward_classifier": ("model",),
    "sim": ("video.",),
    "actor": ("journal", "sender."),
    "learner": (
        "checkpoint_dir",
        "checkpoint_every_s",
        "compression",
        "demonstrations_dir",
        "features_dir",
        "goals_dir",
        "lease_s",
        "log_bytes",
        "log_dir",
        "min_free_bytes",
        "open_bytes",
        "pending_bytes",
        "refused_limit",
        "serve_checkpoint",
        "spare_cores",
    ),
}


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before anything starts."""

    task: TaskFile
    arguments: Arguments
    nodes: tuple[Node, ...]
    directory: Path


def make_plan(task: str, pairs: Iterable[str], root: Path) -> Plan:
    """The plan for `task` (a name or a YAML file) with `name:=value` arguments.

    Args:
      task: e.g. "pcb".
      pairs: see graph.parse_arguments.
      root: where runs are kept; the run's directory lies below unless `run_dir` is given.
    """
    arguments, overrides = graph.parse_arguments(pairs)
    file = load_task(find_task_file(task), graph.NODES)
    arguments = complete(file, arguments, root)
    file = file.observing(arguments.observation)
    neutral = dataclasses.replace(arguments, **_NOT_CONFIGURATION)
    configuration = _learning(graph.make_graph(file, neutral, overrides, cores=1))
    given = _given(arguments)
    directory = run_path(root, file.name, arguments.seed, {**configuration, **given})
    if arguments.job == "label":
        directory = rewards_path(root, file.name)
    if arguments.job == "record":
        directory = root / file.name / RECORDING
    arguments = dataclasses.replace(
        arguments,
        run_dir=arguments.run_dir or str(directory.absolute()),
        demonstrations_dir=arguments.demonstrations_dir
        or str(
            (directory / "demonstrations").absolute()
            if given
            else demonstrations_path(root, file.name, _views(configuration)).absolute()
        ),
    )
    nodes = usable(graph.make_graph(file, arguments, overrides))
    return Plan(file, arguments, nodes, Path(arguments.run_dir))


def _given(arguments: Arguments) -> dict[str, str]:
    """The demonstrations that the user brings: with others it is another run."""
    path = arguments.demonstrations
    return {"demonstrations": str(Path(path).expanduser().absolute())} if path else {}


def _learning(nodes: Iterable[Node]) -> dict[str, dict[str, Any]]:
    """What makes one run differ from another."""
    return {
        node: {k: v for k, v in parameters.items() if _is_learning(node, k)}
        for node, parameters in graph.configuration(nodes).items()
        if node != "metrics_writer" and node not in DRIVERS
    }


def _views(configuration: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the actor sees and how, if it has cameras: other pictures need other demonstrations."""
    actor = configuration["actor"]
    seen = ("cameras.names", "cameras.crops", "cameras.image_size", "task.frame")
    return {name: actor[name] for name in seen if name in actor} if seen[0] in actor else {}


def _is_learning(node: str, parameter: str) -> bool:
    """Whether a run with another value would learn something else."""
    return not any(
        parameter.startswith(name) if name.endswith(".") else parameter == name
        for name in _NOT_LEARNING.get(node, ())
    )
