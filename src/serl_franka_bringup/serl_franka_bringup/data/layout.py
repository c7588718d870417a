"""What a task observes and can learn, as its actor and its learner would."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from serl_actor.camera_views import CamerasConfig
from serl_actor.observer import observation_spec
from serl_actor.task import TaskConfig
from serl_franka_bringup import config
from serl_franka_bringup.plan import Plan, make_plan
from serl_learner.types import ObservationSpec
from serl_learner.validation import Range


class Layout(NamedTuple):
    """What records must be like.

    Attributes:
      spec: keys and sizes; None: all as the first.
      action_dim: size of an action; None: likewise.
      rewards: those that can be learned; None: any.
    """

    spec: ObservationSpec | None = None
    action_dim: int | None = None
    rewards: Range | None = None


def add_task(parser: argparse.ArgumentParser) -> None:
    """The option --task, and --state with it."""
    parser.add_argument(
        "--task", help="name or YAML file: keys, sizes and rewards must be those of this task"
    )
    parser.add_argument(
        "--state",
        dest="observation",
        action="store_const",
        const="state",
        help="the task without cameras (observation:=state)",
    )
    parser.set_defaults(takes_assignments=True)


def given_layout(arguments: argparse.Namespace) -> Layout:
    """That of the option --task; without it anything goes. Raises ConfigError."""
    if arguments.task is None:
        return Layout()
    pairs = list(arguments.assignments)
    pairs += [f"observation:={arguments.observation}"] if arguments.observation else []
    return layout_of(make_plan(arguments.task, pairs, Path("runs")))


def layout_of(plan: Plan) -> Layout:
    """What the actor of a plan observes, and its learner learns, as far as they run here."""
    spec = rewards = action_dim = None
    for node in plan.nodes:
        if node.name == "actor":
            tree = config.unflatten(node.parameters)
            cameras = config.build(CamerasConfig, tree.get("cameras", {}), "actor.cameras")
            task = config.build(TaskConfig, tree["task"], "actor.task")
            spec, action_dim = observation_spec(cameras, task), task.action_dim
        if node.name == "learner":
            rewards = _rewards(config.unflatten(node.parameters).get("agent", {}))
    return Layout(spec, action_dim, rewards)


def _rewards(agent: Mapping[str, Any]) -> Range | None:
    from serl_learner.agents.config import SACConfig  # loads what others do without

    return config.build(SACConfig, agent, "learner.agent").target_range
