"""The node graph of a task, as plain data: what runs, with which parameters, where.

`./serl run` and `launch/*.launch.py` both turn this list into processes; neither has a list
of its own. No ROS here.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serl_franka_bringup import config
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.projection import apply_arguments, project, share_agent
from serl_franka_bringup.supervisor import Respawn
from serl_franka_bringup.task import TaskFile

JOB_NODE = "actor"  # its status tells how the job goes
NODES = ("sim", "expert", "actor", "learner", "metrics_writer")
ROLES = ("all", "robot", "learner")
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
    "learner": {**_JAX_CACHE, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    "metrics_writer": _ONE_THREAD,
}
# All can take up their work again: the learner from its log and checkpoint, the actor from its
# counts, the simulator with the next episode.
_RESPAWN = Respawn(limit=3)
_SMALL_MACHINE = {"learner": {**_ONE_THREAD, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}}
_ROLE_OF_NODE = {
    "sim": "robot",
    "expert": "robot",
    "actor": "robot",
    "learner": "learner",
    "metrics_writer": "learner",
}


@dataclass(frozen=True)
class Arguments:
    """What a person may say about a run: `name:=value` on the command line.

    Further arguments named `<node>.<parameter>` override single parameters.
    """

    seed: int = 0
    roles: str = "all"  # which part of the graph this machine runs
    job: str = "train"
    reward: str = "sparse"
    demos: int | None = None  # demonstrations to record when there are none; None: the task's
    minutes: float | None = None  # stop training after this wall time
    until: float | None = None  # stop training at this success of the last 20 episodes
    max_steps: int | None = None  # stop training after so many environment steps
    episodes: int | None = None  # evaluation episodes per policy; None: the actor's default
    run_dir: str = ""  # where checkpoints and logs go
    demonstrations_dir: str = ""  # where demonstrations are kept
    video_dir: str = ""  # where films of evaluated episodes go; empty: none are made

    def __post_init__(self) -> None:
        choices = {"roles": ROLES, "job": JOBS, "reward": REWARDS}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} '{getattr(self, name)}' is not {' or '.join(allowed)}")
        for name in ("seed", "demos", "max_steps", "episodes", "minutes", "until"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} {value} is below 0")
        if self.until is not None and self.until > 1:
            raise ValueError(f"until {self.until} is above 1: it is a success rate")
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
    parameters = project(task.task)
    for layer in (task.overrides, apply_arguments(arguments), overrides or {}):
        for node, values in layer.items():
            parameters[node].update(values)
    share_agent(parameters)
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    nodes = []
    for name, package in _PACKAGES.items():
        role = _ROLE_OF_NODE[name]
        if arguments.roles not in ("all", role) or not _has_work(name, parameters[name]):
            continue
        environment = {**_ENVIRONMENTS[name], **_keep_parameters(arguments)}
        if cores <= 4:
            environment.update(_SMALL_MACHINE.get(name, {}))
        nodes.append(
            Node(
                package=package,
                executable=f"{name}_node",
                name=name,
                parameters=config.plain(parameters[name]),
                role=role,
                environment=environment,
                respawn=_RESPAWN,
            )
        )
    return tuple(nodes)


_PACKAGES = {
    "sim": "serl_sim",
    "expert": "serl_sim",
    "learner": "serl_learner",
    "actor": "serl_actor",
    "metrics_writer": "serl_learner",
}


def _keep_parameters(arguments: Arguments) -> dict[str, str]:
    """Has every node write down all that it goes by, defaults included."""
    if not arguments.run_dir:
        return {}
    folder = Path(arguments.run_dir) / arguments.part / "params" / "effective"
    return {"SERL_PARAMETERS_FOLDER": str(folder)}


def _has_work(name: str, parameters: Mapping[str, Any]) -> bool:
    """Metrics need a directory to be written to: an evaluation keeps none."""
    return name != "metrics_writer" or "directory" in parameters


def configuration(nodes: Iterable[Node]) -> dict[str, dict[str, Any]]:
    """Parameters by node: what makes one run differ from another, and is saved with it."""
    return {node.name: dict(node.parameters) for node in nodes}
