"""Which parameter of which node each figure of a task is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serl_controllers.geometry import quaternion_from_rpy
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.task import Crop, Task, Vector6

if TYPE_CHECKING:
    from serl_franka_bringup.arguments import Arguments

Parameters = dict[str, Any]  # dotted ROS parameter names

# The controller's box lies a little outside the environment's: the environment's clip, which is
# what gets recorded, always binds first.
BOX_MARGIN: Vector6 = (0.0005, 0.0005, 0.0005, 0.01, 0.01, 0.01)  # [m, rad]

FAILURES = "failures"
"""Directory of demonstrations that failed, below that of those that did not."""

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
    real: Parameters = {} if arguments.robot == "sim" else {"simulated": False, "lockstep": False}
    if real and arguments.job == "label":
        real["job.labels.by"] = "operator"
    return {
        "sim": _sim(task),
        "expert": {
            "control_period": task.control_period,
            **_select(task, _EXPERT, "expert"),
            **_scene_kind(task, "expert"),
        },
        "actor": {
            **real,
            "job.demonstrations": task.demonstrations,
            **_views(task),
            **_select(task, _ACTOR, "task"),
            **_hand(task),
        },
        "learner": _learning(task, arguments),
        "metrics_writer": {},
    }


def apply_arguments(arguments: Arguments) -> dict[str, Parameters]:
    """Parameters by node name that the user's arguments set; absent ones set nothing."""
    job = {
        "job.kind": arguments.job,
        "job.demonstrations": _wanted(arguments),
        "job.keep_failures": arguments.keep_failures or None,
        "job.minutes": arguments.minutes,
        "job.until": arguments.until,
        "job.max_env_steps": arguments.max_steps,
        "job.interventions": arguments.device != "none" or arguments.corrected or None,
        "job.evaluation_episodes": arguments.episodes,
        "job.labels.positives": arguments.positives,
        "job.labels.negatives": arguments.negatives,
        "reward.source": "classifier" if arguments.judged else None,
        "reward.demonstrations": False if arguments.by_vice else None,
        "run_dir": str(Path(arguments.run_dir) / arguments.part) if arguments.run_dir else None,
    }
    said = {name: value for name, value in job.items() if value is not None}
    return {
        "sim": {"video.directory": arguments.video_dir} if arguments.video_dir else {},
        "expert": {"seed": arguments.seed, **_corrections(arguments)},
        "actor": {"seed": arguments.seed, **said},
        "learner": {"seed": arguments.seed, **_directories(arguments), **_goals(arguments)},
        "metrics_writer": _tensorboard(arguments),
    }


def project_controller(task: Task) -> Parameters:
    """Parameters of the controller of a real arm: one compliance set, and the box."""
    lower, upper = _controller_box(task)
    compliance = dataclasses.asdict(task.compliance)
    return {
        **{f"compliance.compliance.{name}": value for name, value in compliance.items()},
        "box.enabled": True,
        "box.position": task.target_position,
        "box.quaternion": tuple(quaternion_from_rpy(task.target_rpy).tolist()),
        "box.lower": lower,
        "box.upper": upper,
    }


def _controller_box(task: Task) -> tuple[tuple[float, ...], tuple[float, ...]]:
    lower = tuple(b - m for b, m in zip(task.box_lower, BOX_MARGIN, strict=True))
    upper = tuple(b + m for b, m in zip(task.box_upper, BOX_MARGIN, strict=True))
    return lower, upper


def _sim(task: Task) -> Parameters:
    lower, upper = _controller_box(task)
    compliance = {f"compliance.{k}": v for k, v in dataclasses.asdict(task.compliance).items()}
    return {
        "control_period": task.control_period,
        "compliance.box_lower": lower,
        "compliance.box_upper": upper,
        **compliance,
        **_cameras(task),
        **_select(task, _SCENE, "scene"),
        **_scene_kind(task, "scene"),
    }


def _scene_kind(task: Task, group: str) -> Parameters:
    return {} if task.scene == "insertion" else {f"{group}.kind": task.scene}


def _hand(task: Task) -> Parameters:
    """What the actor does with the gripper, and whose place solves the task."""
    moved = {} if task.gripper == "fixed" else {"task.gripper": task.gripper}
    return {**moved, **({"task.solved_by": "object"} if task.scene == "pick" else {})}


def _cameras(task: Task) -> Parameters:
    """What the simulator draws, and by how much the socket moves; without pictures it stays."""
    if task.observation != "image":
        return {}
    return {
        "cameras.names": task.cameras,
        "cameras.width": task.image_size,
        "cameras.height": task.image_size,
        "scene.socket_random_xy": task.socket_random_xy,
    }


def _views(task: Task) -> Parameters:
    """What the actor looks at."""
    if task.observation != "image":
        return {}
    return {
        "cameras.image_size": task.image_size,
        "task.frame": task.frame,
        **project_views(task.cameras, task.crop),
    }


def project_views(names: Sequence[str], crop: Mapping[str, Crop]) -> Parameters:
    """The actor's cameras and, if they are cropped, what is left of each picture."""
    crops = [number for name in names for number in crop[name]] if crop else []
    return {"cameras.names": tuple(names), **({"cameras.crops": tuple(crops)} if crops else {})}


def _wanted(arguments: Arguments) -> int | None:
    """Demonstrations to record if there are fewer; none if the user brings some."""
    return 0 if arguments.demonstrations and arguments.demos is None else arguments.demos


def _directories(arguments: Arguments) -> Parameters:
    """Where the learner keeps things; an evaluation reads the best policy and keeps nothing.

    Labelled frames and recorded demonstrations are logged, and nothing else; demonstrations that
    fail in a directory beside the others.
    """
    if not arguments.run_dir:
        return {}
    log = str(Path(arguments.run_dir) / "episodes")
    if arguments.job == "label":
        return {"learning": False, "log_dir": log}
    if arguments.job == "record":
        demonstrations = arguments.demonstrations_dir
        failures = str(Path(demonstrations) / FAILURES)
        log = failures if arguments.keep_failures else log
        return {"learning": False, "demonstrations_dir": demonstrations, "log_dir": log}
    checkpoints = str(Path(arguments.run_dir) / "checkpoints")
    if arguments.job == "evaluate":
        return {"serve_checkpoint": checkpoints}
    return {
        "demonstrations_dir": arguments.demonstrations_dir,
        "log_dir": str(Path(arguments.run_dir) / "episodes"),
        "checkpoint_dir": checkpoints,
        "features_dir": str(Path(arguments.run_dir) / "features"),
    }


def _goals(arguments: Arguments) -> Parameters:
    if not arguments.by_vice:
        return {}
    return {"agent.vice.enabled": True, "goals_dir": arguments.goals_dir}


def _corrections(arguments: Arguments) -> Parameters:
    return {"intervene": "when_drifting"} if arguments.corrected else {}


def _learning(task: Task, arguments: Arguments) -> Parameters:
    """What a block does, and what comes before the first; HG-DAgger begins with a clone. What was
    cloned is not left to critics alone, unless told."""
    clones = arguments.warm_start or arguments.learn == "hg_dagger"
    wanted = task.demonstrations if arguments.demos is None else arguments.demos
    if clones and arguments.demonstrations and arguments.demos is None:
        raise ConfigError(
            f"demonstrations '{arguments.demonstrations}': to begin with a clone of them, say how "
            "many successful ones they are, demos:=N"
        )
    by_rewards = arguments.learn == "rl"
    imitates = arguments.warm_start if arguments.imitate is None else arguments.imitate
    return {
        **({} if by_rewards else {"learn": arguments.learn}),
        **({"warm_start.enabled": True} if clones and wanted else {}),
        **({"agent.imitation.enabled": True} if imitates and by_rewards else {}),
    }


def _tensorboard(arguments: Arguments) -> Parameters:
    if not arguments.run_dir or arguments.job != "train":
        return {}
    return {"directory": str(Path(arguments.run_dir) / "tensorboard")}


def share_gripper(parameters: dict[str, Parameters]) -> None:
    """Tells the learner of a gripper that the actor moves: one more dimension of an action."""
    learner, gripper = parameters["learner"], parameters["actor"].get("task.gripper", "fixed")
    if gripper != "fixed":
        learner.setdefault("action_dim", 7)
        learner.setdefault("agent.grasp.enabled", gripper == "learned")


def share_agent(parameters: dict[str, Parameters]) -> None:
    """Gives the actor the learner's agent: a policy of the same layout."""
    agent = {k: v for k, v in parameters["learner"].items() if k.startswith("agent.")}
    parameters["actor"] = {**agent, **parameters["actor"]}


def share_cores(parameters: dict[str, Parameters], arguments: Arguments) -> None:
    """Has a learner beside an actor in real time leave it a core."""
    if arguments.roles == "all" and not parameters["actor"].get("lockstep", True):
        parameters["learner"].setdefault("spare_cores", 1)


def share_demonstrations(parameters: dict[str, Parameters]) -> None:
    """Has a clone wait for as many demonstrations as the job makes."""
    learner, made = parameters["learner"], parameters["actor"].get("job.demonstrations")
    if learner.get("warm_start.enabled") and made:
        learner.setdefault("warm_start.demonstrations", made)


def _select(task: Task, names: tuple[str, ...], group: str) -> Parameters:
    return {f"{group}.{name}": getattr(task, name) for name in names}
