"""`record`: records labelled frames to train a reward classifier on.

In the simulator the scripted expert and chance drive, and the pose tells what is solved; after a
success the arm stays for a moment and draws back, so that there are frames of nearly solved, too.
On a robot an operator drives, and their key `success` (a button of the device, or the service
mark_success) marks all frames that follow in the episode.

Recording the same again goes on until there are as many as asked for. Ctrl-C loses nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.rewards import EPISODES

HELP = "record frames for a reward classifier"
EXAMPLES = f"""examples:
  ./serl record pcb --rewards
  ./serl record pcb --rewards --positives 500 --negatives 1500 --seed 1

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument(
        "--rewards", action="store_true", required=True, help="frames labelled solved or not"
    )
    parser.add_argument("--positives", type=int, help="frames of solved, at least (default 260)")
    parser.add_argument("--negatives", type=int, help="other frames, at least (default 750)")
    parser.add_argument("--fresh", action="store_true", help="start anew; the old are kept aside")


def run(arguments: argparse.Namespace) -> int:
    """Records and returns 0 if there are enough."""

    def summarise(result: Mapping[str, Any], plan: Plan) -> list[str]:
        return [
            f"frames         {result['positives']:,} positives, {result['negatives']:,} negatives "
            f"in {result['episodes']:,} episodes; {result['wall_s']:.0f} s",
            f"episodes       {plan.directory / EPISODES}",
            f"train on them  {job_command.repeat_command('train-reward', arguments)}",
        ]

    plan = job_command.plan_job(arguments, job="label")
    return job_command.run_job(plan, sys.argv[1:], arguments.json, summarise, arguments.fresh)
