"""What a task's YAML file says: one `task` block and overrides keyed by node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from serl_actor.task import FRAMES, GRIPPERS
from serl_franka_bringup import config
from serl_franka_bringup.config import ConfigError

Vector3 = tuple[float, float, float]
Vector6 = tuple[float, float, float, float, float, float]
Crop = tuple[int, int, int, int]  # rows from, to; columns from, to [pixel]

OBSERVATIONS = ("state", "image")
JUDGED = "judged"
"""Key of what holds where a reward classifier says what a success is."""
SCENES = ("insertion", "pick")


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
    demonstrations: int  # episodes recorded when there are none
    scene: str = "insertion"  # of the simulator; with pick, an object is moved, and solves the task
    gripper: str = "fixed"  # or moved by the policy: a dimension of it (binary), a grasp critic
    # (learned)
    observation: str = "state"  # learned from: the arm's state alone, or cameras (image) beside it
    # What follows concerns the insertion scene only.
    clearance: float = 0.0005  # of the connector in its socket, per side [m]
    in_hand_offset_m: float = 0.0  # hidden offset of the held part, at most [m]
    in_hand_offset_deg: float = 0.0  # at most [deg]
    # What follows concerns `image` only.
    cameras: tuple[str, ...] = ()  # names; of a real arm see cameras.yaml
    crop: Mapping[str, Crop] = field(default_factory=dict)  # by camera; without: all of the picture
    image_size: int = 128  # of what is learned from, height and width [pixel]
    socket_random_xy: float = 0.0  # the fixture is moved by +- this in the simulator [m]
    frame: str = "start"  # of the observed pose: the tool's at the start of the episode, or fixture

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
        choices = {
            "observation": OBSERVATIONS,
            "frame": FRAMES,
            "scene": SCENES,
            "gripper": GRIPPERS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is '{getattr(self, name)}', expected {' or '.join(allowed)}"
                )
        if not (math.isfinite(self.socket_random_xy) and self.socket_random_xy >= 0.0):
            raise ValueError(f"socket_random_xy is {self.socket_random_xy}, expected at least 0")
        self._check_cameras()

    def _check_cameras(self) -> None:
        if self.observation == "image" and not self.cameras:
            raise ValueError("observation is 'image', but cameras names none")
        if not 32 <= self.image_size <= 1024:
            raise ValueError(f"image_size is {self.image_size}, expected 32 .. 1024")
        if self.crop and set(self.crop) != set(self.cameras):
            raise ValueError(
                f"crop is given for {', '.join(self.crop)}, expected for none or for each of the "
                f"cameras: {', '.join(self.cameras)}"
            )
        for name, (top, bottom, left, right) in self.crop.items():
            if not (0 <= top < bottom and 0 <= left < right):
                raise ValueError(
                    f"crop.{name} is rows {top} to {bottom}, columns {left} to {right}: nothing "
                    "is left of the picture"
                )


@dataclass(frozen=True)
class TaskFile:
    """A task and where it came from."""

    name: str
    path: Path
    task: Task
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # node -> flat names
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    # observation, or JUDGED -> further overrides that hold with it alone

    def observing(self, observation: str | None) -> TaskFile:
        """The same task learned from `observation`; None: from what the file says.

        Raises:
          ConfigError: it cannot be.
        """
        if observation is None:
            return self
        try:
            return replace(self, task=replace(self.task, observation=observation))
        except ValueError as error:
            raise ConfigError(f"{self.path}: {error}") from error

    def layers(self, judged: bool) -> tuple[Mapping[str, Mapping[str, Any]], ...]:
        """Overrides by node, the later win; `judged`: by a reward classifier."""
        holds = (self.task.observation, *([JUDGED] if judged else []))
        return (self.overrides, *(self.variants.get(name, {}) for name in holds))


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
    """Reads a task file; `nodes` are the node names that may have overrides.

    Those below `state` and `image` hold for that observation only, those below `judged` with a
    reward classifier.
    """
    content = config.read_yaml(path)
    names = (*OBSERVATIONS, JUDGED)
    for key in content:
        if key not in ("task", *names, *nodes):
            known = ", ".join(("task", *names, *nodes))
            raise ConfigError(f"{path}: {key}: unknown key; known: {known}")
    if not isinstance(content.get("task"), Mapping):
        raise ConfigError(f"{path}: no `task` block")
    task = config.build(Task, content.pop("task"), f"{path}: task")
    variants = {
        name: _overrides(_group(content.pop(name, {}), f"{path}: {name}"), f"{path}: {name}.")
        for name in names
    }
    for name, overrides in variants.items():
        for node in overrides:
            if node not in nodes:
                raise ConfigError(f"{path}: {name}.{node}: unknown key; known: {', '.join(nodes)}")
    return TaskFile(path.stem, path, task, _overrides(content, f"{path}: "), variants)


def _overrides(content: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Flat parameter names by node."""
    return {
        node: config.flatten(_group(values, f"{where}{node}")) for node, values in content.items()
    }


def _group(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: expected a group of keys, got {value!r}")
    return value
