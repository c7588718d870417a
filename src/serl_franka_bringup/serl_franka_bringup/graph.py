"""The node graph of a task, as plain data: what runs, with which parameters, where.

`./serl run` and `launch/*.launch.py` both turn this list into processes; neither has a list
of its own. No ROS here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serl_actor.agreement import check_seen
from serl_actor.task import TaskConfig
from serl_franka_bringup import config, operators, rewards, robots
from serl_franka_bringup.arguments import Arguments, argument_names
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.projection import (
    apply_arguments,
    project,
    share_agent,
    share_cores,
    share_demonstrations,
    share_gripper,
)
from serl_franka_bringup.respawn import Respawn
from serl_franka_bringup.robots import Kind
from serl_franka_bringup.task import TaskFile

JOB_NODE = "actor"  # its status tells how the job goes
KINDS = {
    "sim": Kind("serl_sim", "sim_node", robots=("sim",)),
    **operators.KINDS,
    "learner": Kind("serl_learner", "learner_node", role="learner"),
    "reward_classifier": Kind("serl_learner", "reward_classifier_node"),
    "actor": Kind("serl_actor", "actor_node"),
    "metrics_writer": Kind("serl_learner", "metrics_writer_node", role="learner", vital=False),
    **robots.DRIVERS,
}
NODES = (*KINDS, *(name for kind in KINDS.values() for name in kind.shares))

# On a small machine every thread pool of one node takes the core of another: one thread each
# for what alternates with the simulator, the rest for the learner.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Every compiled function is kept, also the many small ones: a second start takes seconds less.
_JAX_CACHE = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
_ENVIRONMENTS = {
    "sim": _ONE_THREAD,
    "expert": _ONE_THREAD,
    "actor": {
        **_ONE_THREAD,
        **_JAX_CACHE,
        "JAX_PLATFORMS": "cpu",
        "JAX_CPU_ENABLE_ASYNC_DISPATCH": "false",  # no other thread has to get the core first
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    },
    "reward_classifier": {**_ONE_THREAD, **_JAX_CACHE, "JAX_PLATFORMS": "cpu"},
    # Without a limit every thread of XLA has a heap of its own, and what it frees stays there.
    "learner": {
        **_JAX_CACHE,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "MALLOC_ARENA_MAX": "2",
    },
    "metrics_writer": _ONE_THREAD,
    **dict.fromkeys(operators.DEVICES, _ONE_THREAD),
}
# All can take up their work again: the learner from its log and checkpoint, the actor from its
# counts, the simulator with the next episode.
_RESPAWN = Respawn(limit=3)
_SMALL_MACHINE = {"learner": {**_ONE_THREAD, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}}


@dataclass(frozen=True)
class Node:
    """One process of the graph."""

    package: str
    executable: str
    name: str
    parameters: Mapping[str, Any]
    role: str  # "robot" or "learner": the machine it belongs to
    remappings: tuple[tuple[str, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    respawn: Respawn = field(default_factory=Respawn)
    namespace: str = ""  # absolute; empty: none
    renamed: bool = True  # it takes `name`; a process of several nodes names them itself
    shares: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # nodes beside it
    description: Mapping[str, str] | None = (
        None  # it gets a robot description, with these arguments
    )
    arguments: tuple[str, ...] = ()  # on its command line
    needs: tuple[str, ...] = ()  # packages without which it cannot run
    optional: bool = False  # without them it is left out
    vital: bool = True  # a run ends when it stays dead


def parse_arguments(pairs: Iterable[str]) -> tuple[Arguments, dict[str, dict[str, Any]]]:
    """Arguments and node overrides from `name:=value` texts; an unknown name is an error."""
    values: dict[str, Any] = {}
    overrides: dict[str, dict[str, Any]] = {}
    known = argument_names()
    for pair in pairs:
        name, separator, text = pair.partition(":=")
        node, dot, parameter = name.partition(".")
        if not separator:
            raise ConfigError(f"argument '{pair}' is not of the form name:=value")
        if dot and node in NODES:
            overrides.setdefault(node, {})[parameter] = config.parse_value(text)
        elif name in values:
            raise ConfigError(f"argument '{name}' is given twice")
        elif name in known:
            values[name] = config.parse_value(text)
        else:
            raise ConfigError(
                f"unknown argument '{name}'; known: {', '.join(known)}, and <node>.<parameter> "
                f"with node one of {', '.join(NODES)}"
            )
    return config.build(Arguments, values, "arguments"), overrides


def make_graph(
    task: TaskFile,
    arguments: Arguments,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    cores: int | None = None,
) -> tuple[Node, ...]:
    """The nodes to run.

    Args:
      task: what is learned.
      arguments: what the user said; `roles` selects nodes.
      overrides: node -> flat parameter names; they win over the arguments, these over the
        task file's overrides, and these over its `task` block.
      cores: of this machine; None: those this process may use.

    Raises:
      ConfigError: a figure cannot be, or a real arm is to move what nobody sees.
    """
    task = task.observing(arguments.observation)
    parameters = project(task.task, arguments)
    parameters |= robots.driver_parameters(task, arguments)
    parameters |= operators.device_parameters(arguments)
    parameters["actor"].update(robots.camera_views(task, arguments))
    parameters["reward_classifier"] = rewards.classifier_parameters(arguments)
    for layer in (*task.layers(arguments.judged), apply_arguments(arguments), overrides or {}):
        for node, values in layer.items():
            parameters[node].update(values)
    share_gripper(parameters)
    share_agent(parameters)
    share_demonstrations(parameters)
    share_cores(parameters, arguments)
    _check_seen(task, arguments, parameters["actor"])
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    return tuple(
        _make_node(name, kind, parameters, task, arguments, cores)
        for name, kind in KINDS.items()
        if _has_role(name, arguments.roles) and _is_wanted(name, arguments, parameters[name])
    )


def _check_seen(task: TaskFile, arguments: Arguments, actor: Mapping[str, Any]) -> None:
    """Refuses before any driver starts what the actor would refuse once they are up."""
    if arguments.roles == "arm":
        return
    seen = actor.get("cameras.names", ())
    who = actor.get("reward.source", "sparse")
    kind, by = actor["job.kind"], actor.get("task.solved_by", TaskConfig.solved_by)
    try:
        check_seen(by, actor.get("simulated", True), seen, kind, who)
    except ValueError as error:
        raise ConfigError(
            f"{task.path}: scene '{task.task.scene}' with robot:={arguments.robot} "
            f"observation:={task.task.observation} reward:={arguments.reward}: {error}; say "
            "observation:=image reward:=classifier"
        ) from error


def _make_node(
    name: str,
    kind: Kind,
    parameters: Mapping[str, Mapping[str, Any]],
    task: TaskFile,
    arguments: Arguments,
    cores: int,
) -> Node:
    environment = {**_ENVIRONMENTS.get(name, {}), **_keep_parameters(arguments)}
    if cores <= 4:
        environment.update(_SMALL_MACHINE.get(name, {}))
    shown = kind.config_file
    groups = [group for group in (arguments.namespace, kind.group) if group]
    return Node(
        package=kind.package,
        executable=kind.executable,
        name=name,
        parameters=config.plain(parameters[name]),
        role=kind.role,
        remappings=kind.remappings,
        environment=environment,
        respawn=_RESPAWN,
        namespace="/" + "/".join(groups) if groups else "",
        renamed=kind.renamed,
        shares={other: config.plain(parameters[other]) for other in kind.shares},
        description=robots.description_arguments(arguments) if kind.described else None,
        arguments=("-d", str(robots.find_beside(task, shown))) if shown else (),
        needs=kind.needs,
        optional=arguments.robot in kind.optional_for,
        vital=kind.vital,
    )


def _has_role(name: str, roles: str) -> bool:
    """Whether a node belongs to what this machine runs."""
    if roles == "arm":
        return name == "sim" or name in robots.DRIVERS
    return roles in ("all", KINDS[name].role)


def _keep_parameters(arguments: Arguments) -> dict[str, str]:
    """Has every node write down all that it goes by, defaults included."""
    if not arguments.run_dir:
        return {}
    folder = Path(arguments.run_dir) / arguments.part / "params" / "effective"
    return {"SERL_PARAMETERS_FOLDER": str(folder)}


def _is_wanted(name: str, arguments: Arguments, parameters: Mapping[str, Any]) -> bool:
    """Whether a node is part of what the user asked for."""
    if arguments.robot not in KINDS[name].robots:
        return False
    if name in operators.KINDS:
        return operators.is_wanted(name, arguments)
    if name == "reward_classifier":
        return arguments.judged
    if name == "metrics_writer":  # it needs a directory to write to: an evaluation keeps none
        return "directory" in parameters
    return name not in robots.DRIVERS or robots.is_wanted(name, arguments, parameters)


def configuration(nodes: Iterable[Node]) -> dict[str, dict[str, Any]]:
    """Parameters by node: what makes one run differ from another, and is saved with it."""
    by_name = {node.name: dict(node.parameters) for node in nodes}
    return by_name | {name: dict(v) for node in nodes for name, v in node.shares.items() if v}
