"""`eval`: evaluates the best parameters of a run, deterministic and sampled.

Start poses are the same every time, so that two policies meet the same episodes.
"""

from __future__ import annotations

import argparse
import json
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

_SERVED = "learner.serve_checkpoint"


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

    plan = job_command.plan_job(arguments, job="evaluate")
    extra: dict[str, str] = {}
    if not any(given.startswith(f"{_SERVED}:=") for given in arguments.assignments):
        extra[_SERVED] = json.dumps(str(_find_policy(plan, arguments)))
    if arguments.video:
        folder = plan.directory.absolute() / "videos" / time.strftime("%Y%m%d-%H%M%S")
        extra["video_dir"] = str(folder)
    plan = job_command.plan_job(arguments, job="evaluate", **extra)
    if plan.arguments.video_dir:
        print(f"{_find_backend()} draws the films")
    return job_command.run_job(plan, sys.argv[1:], arguments.json, summarise)


def _find_policy(plan: Plan, arguments: argparse.Namespace) -> Path:
    """The file of the run's best policy; says which it is.

    The actor's own comes first: it is what the run itself evaluated, and the learner may have
    had to keep another version.

    Raises:
      ConfigError: there is none that can be used.
    """
    from serl_actor.job_memory import BEST  # these import JAX: not for `--help`
    from serl_learner.learner_session import BEST_POLICY
    from serl_learner.params_codec import ParamsError, read_params

    files = {
        "actor": plan.directory / BEST,
        "learner": plan.directory / "checkpoints" / BEST_POLICY,
    }
    for keeper, path in files.items():
        if not path.exists():
            continue
        try:
            version = read_params(path).version
        except (ParamsError, OSError) as error:
            print(f"{path} is not used: {error}")
            continue
        print(f"policy         version {version}, the best that the {keeper} kept: {path}")
        return path
    raise ConfigError(
        f"{plan.directory} has no policy to evaluate: train first with "
        f"{job_command.repeat_command('run', arguments)}"
    )


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
