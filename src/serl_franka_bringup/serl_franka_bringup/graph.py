"""The node graph of a task, as plain data: what runs, with which parameters, where.

`./serl run` and `launch/*.launch.py` both turn this list into processes; neither has a list
of its own. No ROS here.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serl_franka_bringup import config, robots
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.projection import apply_arguments, project, share_agent
from serl_franka_bringup.respawn import Respawn
from serl_franka_bringup.robots import Kind
from serl_franka_bringup.task import OBSERVATIONS, TaskFile

_NAMESPACE = re.compile(r"([A-Za-z]\w*(/[A-Za-z]\w*)*)?", re.ASCII)
JOB_NODE = "actor"  # its status tells how the job goes
KINDS = {
    "sim": Kind("serl_sim", "sim_node", robots=("sim",)),
    "expert": Kind("serl_sim", "expert_node"),
    "learner": Kind("serl_learner", "learner_node", role="learner"),
    "actor": Kind("serl_actor", "actor_node"),
    "metrics_writer": Kind("serl_learner", "metrics_writer_node", role="learner", vital=False),
    **robots.DRIVERS,
}
NODES = (*KINDS, *(name for kind in KINDS.values() for name in kind.shares))
ROLES = ("all", "robot", "learner", "arm")
JOBS = ("train", "evaluate")
REWARDS = ("sparse",)
PARTS = {"train": "", "evaluate": "evaluation"}  # folder of the run directory by job

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
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    },
    # Without a limit every thread of XLA has a heap of its own, and what it frees stays there.
    "learner": {
        **_JAX_CACHE,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "MALLOC_ARENA_MAX": "2",
    },
    "metrics_writer": _ONE_THREAD,
}
# All can take up their work again: the learner from its log and checkpoint, the actor from its
# counts, the simulator with the next episode.
_RESPAWN = Respawn(limit=3)
_SMALL_MACHINE = {"learner": {**_ONE_THREAD, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}}


def _argument(default: Any, description: str) -> Any:
    return field(default=default, metadata={"description": description})


@dataclass(frozen=True)
class Arguments:
    """What a person may say about a run: `name:=value` on the command line.

    Further arguments named `<node>.<parameter>` override single parameters.
    """

    robot: str = _argument("sim", "sim: MuJoCo; fr3: the real arm")
    robot_ip: str = _argument("", "address of the real arm, e.g. 172.16.0.2")
    namespace: str = _argument("", "of all nodes of this robot; empty: none")
    gripper: str = _argument("franka", "of the real arm: none, franka or robotiq")
    cameras: bool = _argument(True, "the real arm has the cameras of cameras.yaml")
    hardware: str = _argument("franka", "behind robot:=fr3: franka, or mujoco or mock for trials")
    rviz: bool = _argument(False, "show robot, target, workspace box and who drives in rviz")
    seed: int = _argument(0, "of everything random")
    roles: str = _argument(
        "all", "which part this machine runs: all, robot, learner, or arm: drivers only"
    )
    job: str = _argument("train", "train or evaluate")
    observation: str | None = _argument(
        None,
        "image: learn from the cameras and the arm's state, state: from the latter alone; without: "
        "the task's",
    )
    reward: str = _argument("sparse", "which reward is learned from")
    demos: int | None = _argument(
        None, "demonstrations to record when there are none; without: the task's"
    )
    minutes: float | None = _argument(None, "stop training after this wall time")
    until: float | None = _argument(None, "stop training at this success of the last 20, 0 .. 1")
    max_steps: int | None = _argument(None, "stop training after so many environment steps")
    episodes: int | None = _argument(
        None, "evaluation episodes per policy; without: the actor's default"
    )
    run_dir: str = _argument("", "where checkpoints and logs go; empty: below runs")
    demonstrations_dir: str = _argument("", "where demonstrations are kept; empty: below runs")
    video_dir: str = _argument("", "where films of evaluated episodes go; empty: none are made")

    def __post_init__(self) -> None:
        choices = {
            "robot": robots.ROBOTS,
            "gripper": robots.GRIPPERS,
            "hardware": robots.HARDWARE,
            "roles": ROLES,
            "job": JOBS,
            "reward": REWARDS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} '{getattr(self, name)}' is not {' or '.join(allowed)}")
        if self.observation is not None and self.observation not in OBSERVATIONS:
            known = " or ".join(OBSERVATIONS)
            raise ValueError(f"observation '{self.observation}' is not {known}")
        for name in ("seed", "demos", "max_steps", "episodes", "minutes", "until"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} {value} is below 0")
        if self.until is not None and self.until > 1:
            raise ValueError(f"until {self.until} is above 1: it is a success rate")
        if self.robot == "fr3" and self.hardware == "franka" and not self.robot_ip:
            raise ValueError("robot 'fr3' needs robot_ip, e.g. robot_ip:=172.16.0.2")
        if self.robot == "sim" and self.robot_ip:
            raise ValueError(f"robot_ip '{self.robot_ip}' is given for robot 'sim'; robot:=fr3?")
        if not _NAMESPACE.fullmatch(self.namespace):
            raise ValueError(f"namespace '{self.namespace}' is not of letters, digits and _")
        if self.video_dir and self.job != "evaluate":
            raise ValueError(f"video_dir '{self.video_dir}': only evaluations are filmed")

    @property
    def part(self) -> str:
        """Folder of the run directory that the job writes to."""
        return PARTS[self.job]


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


def argument_names() -> list[str]:
    """Names of the arguments of a run."""
    return [f.name for f in dataclasses.fields(Arguments)]


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
    """
    task = task.observing(arguments.observation)
    parameters = project(task.task, arguments)
    parameters |= robots.driver_parameters(task, arguments)
    parameters["actor"].update(robots.camera_views(task, arguments))
    for layer in (*task.layers, apply_arguments(arguments), overrides or {}):
        for node, values in layer.items():
            parameters[node].update(values)
    share_agent(parameters)
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    return tuple(
        _make_node(name, kind, parameters, task, arguments, cores)
        for name, kind in KINDS.items()
        if _has_role(name, arguments.roles) and _is_wanted(name, arguments, parameters[name])
    )


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
    if name == "metrics_writer":  # it needs a directory to write to: an evaluation keeps none
        return "directory" in parameters
    return name not in robots.DRIVERS or robots.is_wanted(name, arguments, parameters)


def configuration(nodes: Iterable[Node]) -> dict[str, dict[str, Any]]:
    """Parameters by node: what makes one run differ from another, and is saved with it."""
    by_name = {node.name: dict(node.parameters) for node in nodes}
    return by_name | {name: dict(v) for node in nodes for name, v in node.shares.items() if v}
