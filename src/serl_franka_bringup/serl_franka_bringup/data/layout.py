"""Keys and sizes of what a task observes, as its actor would."""

from __future__ import annotations

import argparse
from pathlib import Path

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import observation_spec
from serl_franka_bringup import config, job_command
from serl_franka_bringup.plan import Plan
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
    arguments.runs = Path("runs")
    return layout_of(job_command.plan_job(arguments))


def layout_of(plan: Plan) -> ObservationSpec:
    """What the actor of a plan observes."""
    actor = next(node.parameters for node in plan.nodes if node.name == "actor")
    cameras = config.unflatten(actor).get("cameras", {})
    return observation_spec(config.build(CamerasConfig, cameras, "actor.cameras"))
