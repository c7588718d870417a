"""Turns the node graph of a task into launch actions; the graph itself is in graph.py."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueCoroutine,
    OpaqueFunction,
)
from launch_ros.actions import Node as NodeAction

from launch import Action, LaunchContext
from serl_franka_bringup import graph, plan, tied_exec
from serl_franka_bringup.command_line import write_parameters
from serl_franka_bringup.demonstrations import take_demonstrations
from serl_franka_bringup.graph import Arguments, Node
from serl_franka_bringup.ros_launch_job import LaunchJob, OnExit
from serl_franka_bringup.run_directory import RunDirectory


def task_actions(task: str) -> list[Action]:
    """Declared arguments and, once their values are known, the nodes of `task`."""
    declared = [
        DeclareLaunchArgument(
            field.name,
            default_value=_text(field.default),
            description=field.metadata["description"],
        )
        for field in dataclasses.fields(Arguments)
    ]
    declared.append(DeclareLaunchArgument("runs", default_value="runs", description="root of runs"))
    return [*declared, OpaqueFunction(function=_start, kwargs={"task": task})]


def _text(default: object) -> str:
    """A default as a person would write it after `:=`; empty: none."""
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default is None else str(default)


def _start(context: LaunchContext, task: str) -> list[Action]:
    """The nodes with the values that the user gave; an unknown argument is an error."""
    given = {k: v for k, v in context.launch_configurations.items() if v != ""}
    root = Path(given.pop("runs"))
    given.pop("ros_namespace", None)
    planned = plan.make_plan(task, [f"{name}:={value}" for name, value in given.items()], root)
    directory = RunDirectory(planned.directory, part=planned.arguments.part)
    context.extend_globals({"serl_run_directory": directory})  # its lock lives as long as we do
    directory.save_configuration(graph.configuration(planned.nodes), sys.argv[1:])
    taken = take_demonstrations(planned)
    job = LaunchJob(
        planned.nodes,
        lambda node, ended: node_action(node, write_parameters(node, directory), ended),
    )
    log = [LogInfo(msg=f"run directory {planned.directory}")]
    log += [LogInfo(msg=taken)] if taken else []
    return [*log, *job.start(), OpaqueCoroutine(coroutine=job.watch)]


def node_action(node: Node, parameters: Path, on_exit: OnExit | None = None) -> NodeAction:
    """One process of the graph, that dies with launch; `on_exit` decides what follows its end."""
    return NodeAction(
        package=node.package,
        executable=node.executable,
        exec_name=node.name,
        name=node.name if node.renamed else None,
        namespace=node.namespace,
        arguments=list(node.arguments),
        parameters=[str(parameters)],
        remappings=list(node.remappings),
        additional_env=dict(node.environment),
        prefix=shlex.join(tied_exec.prefix()),
        on_exit=on_exit,
        output="both",
    )
