"""`train-reward`: trains the reward classifier of a task on the frames recorded for it.

Whole episodes are held out to judge it and to choose its threshold. Prints what it was judged to
be, and writes the model with a picture of its ROC beside the frames.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from serl_franka_bringup import job_command
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.output import write_json
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.rewards import EPISODES, MODEL

HELP = "train the reward classifier of a task"
PICTURE = "classifier.png"
EXAMPLES = f"""examples:
  ./serl train-reward pcb
  ./serl train-reward pcb --positives 400 --negatives 600 --rate 0.001 --frames 2

{job_command.ASSIGNMENTS}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    job_command.add_task_arguments(parser)
    parser.add_argument("--positives", type=int, default=200, help="to train on (default 200)")
    parser.add_argument("--negatives", type=int, default=1500, help="to train on (default 1500)")
    parser.add_argument("--stages", type=int, default=1, help="labelled stages (default 1)")
    parser.add_argument(
        "--rate", type=float, help="false positives among held-out negatives, at most"
    )
    parser.add_argument("--frames", type=int, help="in a row over the threshold that count")


def run(arguments: argparse.Namespace) -> int:
    """Trains and returns 0 if the threshold keeps the stated rate."""
    plan = job_command.plan_job(arguments, job="label", positives=None, negatives=None)
    from serl_franka_bringup import labelled_frames, reward_picture  # these import JAX
    from serl_learner.rewards.frames import BadFrames
    from serl_learner.rewards.model_file import write_model
    from serl_learner.rewards.study import study

    actor = next(node.parameters for node in plan.nodes if node.name == "actor")
    sizes = labelled_frames.camera_sizes(actor)
    try:
        config = _config(arguments)
        frames = labelled_frames.read_frames(plan.directory / EPISODES, sizes, config.classes)
        done = study(
            frames, sizes, config, arguments.positives, arguments.negatives, arguments.seed or 0
        )
    except (BadFrames, ValueError) as error:
        raise ConfigError(str(error)) from error
    path = plan.directory / MODEL
    write_model(path, done.model)
    reward_picture.draw(done, plan.directory / PICTURE)
    print("\n".join(_describe(done, plan)))
    write_json(arguments.json, {**done.model.report, "model_id": done.model.model_id})
    return 0 if done.met else 1


def _config(arguments: argparse.Namespace) -> Any:
    from serl_learner.rewards.config import ClassifierConfig

    said = {"false_positive_rate": arguments.rate, "frames": arguments.frames}
    known = {name: value for name, value in said.items() if value is not None}
    return replace(ClassifierConfig(classes=arguments.stages + 1), **known)


def _describe(done: Any, plan: Plan) -> list[str]:
    """The study in words: counts, sweep, what was chosen, and where it is."""
    report, model = done.model.report, done.model
    judged = report["judged_on"]
    wanted = report["false_positive_rate_wanted"]
    lines = [
        f"trained on     {_by_class(report['trained_on'])}",
        f"judged on      {_by_class(judged)} of {report['held_out_episodes']} held-out episodes",
        "",
        "threshold  precision  recall  false positives",
        *(_row(counts) for counts in done.rows),
        "",
        f"area under ROC {report['area_under_roc']:.4f}",
        f"chosen         {_row(done.chosen).strip()}, {model.frames} frames in a row",
    ]
    if not done.met:
        lines.append(
            f"               no threshold keeps false positives at or below {wanted:.2%}: more, or "
            "other, negatives are needed"
        )
    if len(judged) > 2:
        lines += ["stages (rows) by what they were called:", *map(str, done.confusion.tolist())]
    return [
        *lines,
        f"model          {plan.directory / MODEL} ({model.model_id})",
        f"picture        {plan.directory / PICTURE}",
        f"learn from it  ./serl run {plan.task.name} reward:=classifier",
    ]


def _by_class(counts: Sequence[int]) -> str:
    if len(counts) == 2:
        return f"{counts[1]:,} positives and {counts[0]:,} negatives"
    return ", ".join(f"{n:,} of stage {stage}" for stage, n in enumerate(counts))


def _row(counts: Any) -> str:
    rates = (counts.precision, counts.recall, counts.false_positive_rate)
    shown = ["-" if rate is None else f"{rate:.1%}" for rate in rates]
    of = counts.false_positives + counts.true_negatives
    return (
        f"{counts.threshold:9.2f}  {shown[0]:>9}  {shown[1]:>6}  "
        f"{shown[2]:>6} ({counts.false_positives} of {of})"
    )
