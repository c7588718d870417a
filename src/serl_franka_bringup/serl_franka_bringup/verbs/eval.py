"""`eval`: evaluates the best parameters of a run, deterministic and sampled.

Start poses are the same every time, so that two policies meet the same episodes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.plan import Plan

HELP = "evaluate the best parameters of a run"
EXAMPLES = f"""examples:
  ./serl eval pcb --episodes 50
  ./serl eval pcb --seed 1 --json evaluation.json

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument("--episodes", type=int, help="for each policy (default 50)")


def run(arguments: argparse.Namespace) -> int:
    """Evaluates and returns 0 if every episode ran."""

    def summarise(result: Mapping[str, Any], plan: Plan) -> list[str]:
        return job_command.describe_success(result)

    from serl_learner.learner_session import BEST_POLICY  # imports JAX: not for `--help`

    plan = job_command.plan_job(arguments, job="evaluate")
    best = plan.directory / "checkpoints" / BEST_POLICY
    if not best.exists():
        raise ConfigError(
            f"{best} does not exist: train first with "
            f"{job_command.repeat_command('run', arguments)}"
        )
    return job_command.run_job(plan, sys.argv[1:], arguments.json, summarise)
