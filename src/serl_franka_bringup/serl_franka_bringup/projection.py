"""Which parameter of which node each figure of a task is."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from serl_franka_bringup.task import Task, Vector6

if TYPE_CHECKING:
    from serl_franka_bringup.graph import Arguments

Parameters = dict[str, Any]  # dotted ROS parameter names

# The controller's box lies a little outside the environment's: the environment's clip, which is
# what gets recorded, always binds first.
BOX_MARGIN: Vector6 = (0.0005, 0.0005, 0.0005, 0.01, 0.01, 0.01)  # [m, rad]

_PLACE = ("target_position", "target_rpy")
_ACTOR = (
    *_PLACE,
    "start_height",
    "random_xy",
    "random_yaw",
    "box_lower",
    "box_upper",
    "threshold",
    "translation_scale",
    "rotation_scale",
    "episode_steps",
    "control_period",
)
_SCENE = (*_PLACE, "start_height", "clearance", "in_hand_offset_m", "in_hand_offset_deg")
_EXPERT = (*_PLACE, "translation_scale", "rotation_scale")


def project(task: Task, arguments: Arguments) -> dict[str, Parameters]:
    """Parameters by node name; what is not here keeps the default of the node's dataclass."""
    return {
        "sim": _sim(task),
        "expert": {
            "seed": arguments.seed,
            "control_period": task.control_period,
            **_select(task, _EXPERT, "expert"),
        },
        "actor": {
            "seed": arguments.seed,
            **({"run_dir": arguments.run_dir} if arguments.run_dir else {}),
            **_select(task, _ACTOR, "task"),
            **_job(task, arguments),
        },
        "learner": {},
    }


def _sim(task: Task) -> Parameters:
    lower = tuple(b - m for b, m in zip(task.box_lower, BOX_MARGIN, strict=True))
    upper = tuple(b + m for b, m in zip(task.box_upper, BOX_MARGIN, strict=True))
    compliance = {f"compliance.{k}": v for k, v in dataclasses.asdict(task.compliance).items()}
    return {
        "control_period": task.control_period,
        "compliance.box_lower": lower,
        "compliance.box_upper": upper,
        **compliance,
        **_select(task, _SCENE, "scene"),
    }


def _job(task: Task, arguments: Arguments) -> Parameters:
    """What the user did not say keeps the actor's default."""
    demonstrations = arguments.demos if arguments.demos is not None else task.demonstrations
    said = {
        "job.kind": arguments.job,
        "job.demonstrations": demonstrations,
        "job.minutes": arguments.minutes,
        "job.until": arguments.until,
        "job.max_env_steps": arguments.max_steps,
        "job.evaluation_episodes": arguments.episodes,
    }
    return {name: value for name, value in said.items() if value is not None}


def share_agent(parameters: dict[str, Parameters]) -> None:
    """Gives the actor the learner's agent: a policy of the same layout."""
    agent = {k: v for k, v in parameters["learner"].items() if k.startswith("agent.")}
    parameters["actor"] = {**agent, **parameters["actor"]}


def _select(task: Task, names: tuple[str, ...], group: str) -> Parameters:
    return {f"{group}.{name}": getattr(task, name) for name in names}
