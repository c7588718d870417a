"""Keys and sizes of what a task observes, as its actor would."""

from __future__ import annotations

import argparse
from pathlib import Path

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import observation_spec
from serl_franka_bringup import config
from serl_franka_bringup.plan import Plan, make_plan
from serl_learner.types import ObservationSpec

ACTION_DIM = 6


def add_task(parser: argparse.ArgumentParser, why: str) -> None:
    """The option --task, and --state with it."""
    parser.add_argument("--task", help=f"name of a task or a YAML file: {why}")
    parser.add_argument(
        "--state",
        dest="observation",
        action="store_const",
        const="state",
        help="the task without cameras (observation:=state)",
    )
    parser.set_defaults(takes_assignments=True)


def given_layout(arguments: argparse.Namespace) -> ObservationSpec | None:
    """That of the option --task; None without it. Raises ConfigError."""
    if arguments.task is None:
        return None
    pairs = list(arguments.assignments)
    pairs += [f"observation:={arguments.observation}"] if arguments.observation else []
    return layout_of(make_plan(arguments.task, pairs, Path("runs")))


def layout_of(plan: Plan) -> ObservationSpec | None:
    """What the actor of a plan observes; None if it runs on another machine."""
    for node in plan.nodes:
        if node.name == "actor":
            cameras = config.unflatten(node.parameters).get("cameras", {})
            return observation_spec(config.build(CamerasConfig, cameras, "actor.cameras"))
    return None
