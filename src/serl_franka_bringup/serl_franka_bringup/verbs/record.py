"""`record`: records demonstrations, or labelled frames to train a reward classifier on.

Demonstrations: the operator drives one episode after the other, in simulation the scripted expert
unless there is a device. Episodes that succeed are kept, each as a bag of its own, where all runs
of the task find them; with --failures the others, too, apart from those.

--rewards: frames that are labelled solved or not. In the simulator the scripted expert and chance
drive, and the pose tells what is solved; after a success the arm is moved out and in, and draws
back, so that there are frames of just and of nearly solved, too. On a robot an operator drives, and
their key `success` (a button of the device, or the service mark_success) marks all frames that
follow in the episode.

Recording the same again goes on until there are as many as asked for. Ctrl-C loses nothing.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.projection import FAILURES
from serl_franka_bringup.rewards import EPISODES

HELP = "record demonstrations, or frames for a reward classifier"
EXAMPLES = f"""examples:
  ./serl record pcb -n 20
  ./serl record pcb -n 20 device:=spacemouse --failures
  ./serl record pcb -n 20 robot:=fr3 robot_ip:=172.16.0.2 device:=spacemouse
  ./serl record pcb --rewards
  ./serl record pcb --rewards --positives 500 --negatives 1500 --seed 1

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument(
        "-n", "--demos", type=int, help="successful demonstrations that there shall be in the end"
    )
    parser.add_argument(
        "--failures",
        dest="keep_failures",
        action="store_const",
        const=True,
        help=f"keep demonstrations that fail, in {FAILURES}/ below the others",
    )
    parser.add_argument(
        "-o", "--out", dest="demonstrations_dir", help="directory (default: the task's)"
    )
    parser.add_argument("--rewards", action="store_true", help="frames labelled solved or not")
    parser.add_argument("--positives", type=int, help="frames of solved, at least (default 500)")
    parser.add_argument("--negatives", type=int, help="other frames, at least (default 750)")
    parser.add_argument("--fresh", action="store_true", help="start anew; the old are kept aside")


def run(arguments: argparse.Namespace) -> int:
    """Records and returns 0 if there are enough."""
    if arguments.rewards:
        plan, summarise = job_command.plan_job(arguments, job="label"), _describe_frames
    else:
        plan, summarise = job_command.plan_job(arguments, job="record"), _describe_demonstrations
    return job_command.run_job(
        plan,
        sys.argv[1:],
        arguments.json,
        lambda result, plan: summarise(result, plan, arguments),
        arguments.fresh,
    )


def _describe_demonstrations(
    result: Mapping[str, Any], plan: Plan, arguments: argparse.Namespace
) -> list[str]:
    directory = plan.arguments.demonstrations_dir
    state = " --state" if arguments.observation else ""
    own = arguments.demonstrations_dir  # of this recording: no run of the task looks there
    given = f" {shlex.quote(f'demonstrations:={own}')}" if own else ""
    return [
        f"demonstrations {result['demonstrations']:,}, after {result['episodes']:,} episodes of "
        f"this recording; {result['wall_s']:.0f} s",
        f"episodes       {directory}",
        f"look them over ./serl data check {shlex.quote(directory)} --task {arguments.task}{state}",
        f"learn from it  {job_command.repeat_command('run', arguments)}{given}",
    ]


def _describe_frames(
    result: Mapping[str, Any], plan: Plan, arguments: argparse.Namespace
) -> list[str]:
    return [
        f"frames         {result['positives']:,} positives, {result['negatives']:,} negatives "
        f"in {result['episodes']:,} episodes; {result['wall_s']:.0f} s",
        f"episodes       {plan.directory / EPISODES}",
        f"train on them  {job_command.repeat_command('train-reward', arguments)}",
    ]
