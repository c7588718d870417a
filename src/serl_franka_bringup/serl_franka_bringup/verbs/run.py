"""`run`: trains a task: demonstrations if there are none, warm-up, training, evaluation.

Running the same again resumes it. Ctrl-C stops every process within 5 s.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.plan import Plan

HELP = "train a task: demonstrations, training, evaluation"
EXAMPLES = f"""examples:
  ./serl run pcb
  ./serl run pcb --seed 1 --minutes 5 --until 0.95 --json result.json
  ./serl run pcb --fresh learner.utd_ratio:=8 reward:=sparse

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument("--minutes", type=float, help="stop training after this wall time")
    parser.add_argument("--until", type=float, help="stop at this success of the last 20, 0..1")
    parser.add_argument("--max-steps", type=int, help="stop after so many environment steps")
    parser.add_argument("--demos", type=int, help="demonstrations to record if there are none")
    parser.add_argument("--episodes", type=int, help="evaluation episodes for each policy")
    parser.add_argument("--roles", choices=("all", "robot", "learner"), help="part to run here")
    parser.add_argument(
        "--fresh", action="store_true", help="start anew; the old run is kept aside"
    )


def run(arguments: argparse.Namespace) -> int:
    """Trains and returns 0 if the job came to its end."""

    def summarise(result: Mapping[str, Any], plan: Plan) -> list[str]:
        return [
            *job_command.describe_success(result),
            f"training       {result['env_steps']:,} env steps, {result['episodes']:,} episodes, "
            f"{result['updates']:,} updates; {result['wall_s']:.0f} s in all",
            f"evaluate again {job_command.repeat_command('eval', arguments)}",
            f"go on training {job_command.repeat_command('run', arguments)}",
        ]

    plan = job_command.plan_job(arguments)
    return job_command.run_job(plan, sys.argv[1:], arguments.json, summarise, arguments.fresh)
