"""`eval`: evaluates the best parameters of a run, deterministic and sampled.

Start poses are the same every time, so that two policies meet the same episodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.plan import Plan

HELP = "evaluate the best parameters of a run"
EXAMPLES = f"""examples:
  ./serl eval pcb --episodes 50
  ./serl eval pcb --seed 1 --json evaluation.json
  ./serl eval pcb --episodes 5 --video

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument("--episodes", type=int, help="for each policy (default 50)")
    parser.add_argument(
        "--video",
        action="store_true",
        help="film every episode: one MP4 each in the run directory's videos/",
    )


def run(arguments: argparse.Namespace) -> int:
    """Evaluates and returns 0 if every episode ran."""

    def summarise(result: Mapping[str, Any], plan: Plan) -> list[str]:
        return [*job_command.describe_success(result), *_describe_films(plan)]

    from serl_learner.learner_session import BEST_POLICY  # imports JAX: not for `--help`

    plan = job_command.plan_job(arguments, job="evaluate")
    best = plan.directory / "checkpoints" / BEST_POLICY
    if not best.exists():
        raise ConfigError(
            f"{best} does not exist: train first with "
            f"{job_command.repeat_command('run', arguments)}"
        )
    if arguments.video:
        folder = plan.directory.absolute() / "videos" / time.strftime("%Y%m%d-%H%M%S")
        plan = job_command.plan_job(arguments, job="evaluate", video_dir=folder)
    if plan.arguments.video_dir:
        print(f"{_find_backend()} draws the films")
    return job_command.run_job(plan, sys.argv[1:], arguments.json, summarise)


def _find_backend() -> str:
    """The OpenGL that draws, also for the nodes that are started.

    Raises:
      ConfigError: there is none.
    """
    from serl_sim.gl_backend import GLError, use_backend

    try:
        return use_backend()
    except GLError as error:
        raise ConfigError(str(error)) from error


def _describe_films(plan: Plan) -> list[str]:
    """Where the films are, if any were asked for."""
    if not plan.arguments.video_dir:
        return []
    folder = Path(plan.arguments.video_dir)
    return [f"films          {folder} ({len(list(folder.glob('*.mp4')))} episodes)"]
