"""What a task's YAML file says: one `task` block and overrides keyed by node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serl_franka_bringup import config
from serl_franka_bringup.config import ConfigError

Vector3 = tuple[float, float, float]
Vector6 = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Compliance:
    """Figures of the impedance law, per axis of the base frame, translation first.

    Errors are measured minus target, rotations are rotation vectors.
    """

    stiffness: Vector6  # [N/m, N m/rad]
    damping: Vector6  # [N s/m, N m s/rad]
    clip_positive: Vector6  # largest pose error that pulls [m, rad]
    clip_negative: Vector6  # the same in the other direction [m, rad]
    target_time_constant: float  # of the target filter [s]


@dataclass(frozen=True)
class Task:
    """A task as a person describes it; poses in the arm's base frame, SI units.

    The fixture frame is the tool's pose when the task is solved. The box is about it:
    translation along the base's axes, orientation as a rotation vector relative to it.
    """

    target_position: Vector3  # [m]
    target_rpy: Vector3  # about the fixed axes x, y, z [rad]
    start_height: float  # of the nominal start above the target [m]
    random_xy: float  # random start, +- [m]
    random_yaw: float  # random start, +- [rad]
    box_lower: Vector6  # [m, rad]
    box_upper: Vector6  # [m, rad]
    threshold: Vector6  # of success, per axis of the fixture frame [m, rad]
    translation_scale: float  # of an action of 1 [m]
    rotation_scale: float  # of an action of 1 [rad]
    episode_steps: int
    control_period: float  # [s]
    compliance: Compliance
    clearance: float  # of the connector in its socket, per side [m]
    in_hand_offset_m: float  # hidden offset of the held part, at most [m]
    in_hand_offset_deg: float  # at most [deg]
    demonstrations: int  # episodes recorded when there are none

    def __post_init__(self) -> None:
        for lower, upper in zip(self.box_lower, self.box_upper, strict=True):
            if not lower <= 0.0 <= upper:
                raise ValueError(f"box {self.box_lower} .. {self.box_upper} must hold the target")
        for name in ("control_period", "translation_scale", "rotation_scale", "clearance"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0")
        for name in ("episode_steps", "demonstrations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")


@dataclass(frozen=True)
class TaskFile:
    """A task and where it came from."""

    name: str
    path: Path
    task: Task
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # node -> flat names


def find_task_file(task: str) -> Path:
    """`config/<task>.yaml` of the installed package, or the file that `task` names."""
    if task.endswith((".yaml", ".yml")):
        return Path(task)
    directory = config_directory()
    path = directory / f"{task}.yaml"
    if not path.exists():
        known = ", ".join(sorted(known_tasks())) or "none"
        raise ConfigError(f"no task '{task}' in {directory}; known: {known}")
    return path


def config_directory() -> Path:
    """Where the package's task files are installed."""
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory("serl_franka_bringup")) / "config"


def known_tasks() -> list[str]:
    """Names of the installed tasks."""
    return [p.stem for p in config_directory().glob("*.yaml") if "task" in config.read_yaml(p)]


def load_task(path: Path, nodes: tuple[str, ...]) -> TaskFile:
    """Reads a task file; `nodes` are the node names that may have overrides."""
    content = config.read_yaml(path)
    for key in content:
        if key != "task" and key not in nodes:
            known = ", ".join(("task", *nodes))
            raise ConfigError(f"{path}: {key}: unknown key; known: {known}")
    if not isinstance(content.get("task"), Mapping):
        raise ConfigError(f"{path}: no `task` block")
    task = config.build(Task, content.pop("task"), f"{path}: task")
    for node, values in content.items():
        if not isinstance(values, Mapping):
            raise ConfigError(f"{path}: {node}: expected a group of keys, got {values!r}")
    overrides = {node: config.flatten(values) for node, values in content.items()}
    return TaskFile(path.stem, path, task, overrides)
