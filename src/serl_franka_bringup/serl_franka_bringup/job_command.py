"""What `run` and `eval` share: their options, and running one job to its result."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from serl_franka_bringup import graph
from serl_franka_bringup.arguments import argument_names
from serl_franka_bringup.demonstrations import take_demonstrations
from serl_franka_bringup.kept_demonstrations import (
    index_demonstrations,
    set_demonstrations_aside,
)
from serl_franka_bringup.output import write_json
from serl_franka_bringup.plan import Plan, make_plan
from serl_franka_bringup.run_directory import RunDirectory
from serl_franka_bringup.session import Ending, run_session

RESULT = "result.json"  # written by the actor into the run directory
EXIT_CODES = {"done": 0, "failed": 1, "died": 1, "interrupted": 130}
ASSIGNMENTS = """`name:=value` arguments may follow, as for ros2 launch: the names of these options,
reward, and <node>.<parameter> for any parameter of sim, expert, actor or learner."""


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """Which task, which run of it, and where."""
    parser.add_argument("task", help="name of a task (pcb) or a YAML file")
    parser.add_argument("--seed", type=int, help="of everything random (default 0)")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), help="where runs are kept (default ./runs)"
    )
    parser.add_argument(
        "--state",
        dest="observation",
        action="store_const",
        const="state",
        help="learn from the arm's state alone, without cameras (observation:=state)",
    )
    parser.set_defaults(takes_assignments=True)


def plan_job(arguments: argparse.Namespace, **extra: Any) -> Plan:
    """The plan of a verb's arguments; options are `name:=value` arguments by other means."""
    options = {name: getattr(arguments, name, None) for name in argument_names()} | extra
    pairs = [f"{name}:={value}" for name, value in options.items() if value is not None]
    return make_plan(arguments.task, [*arguments.assignments, *pairs], arguments.runs)


def run_job(
    plan: Plan,
    command: list[str],
    json_file: Path | None,
    summarise: Callable[[Mapping[str, Any], Plan], list[str]],
    fresh: bool = False,
) -> int:
    """Runs the plan's nodes until the job ends, tells the result and returns the exit code."""
    with RunDirectory(plan.directory, fresh, plan.arguments.part) as directory:
        if fresh and plan.arguments.job == "record" and (said := set_demonstrations_aside(plan)):
            print(said)
        known = (plan.directory / "config.yaml").exists()
        doing = "evaluating" if plan.arguments.part else "resuming" if known else "new run"
        print(f"{doing} {plan.directory}")
        directory.save_configuration(graph.configuration(plan.nodes), command)
        (directory.path / RESULT).unlink(missing_ok=True)
        if said := take_demonstrations(plan):
            print(said)
        ending = run_session(plan.nodes, directory, job_node=_job_node(plan))
        if plan.arguments.job in ("train", "record"):
            index_demonstrations(plan)
        result = read_result(directory.path, ending)
    write_json(json_file, {**result, "run_dir": str(plan.directory)})
    if ending.succeeded:
        print("\n".join(summarise(result, plan)))
    else:
        print(f"{ending.how}: {ending.reason}")
    print(f"run directory  {plan.directory}")
    return EXIT_CODES[ending.how]


def _job_node(plan: Plan) -> str:
    """The node whose end is the run's: the actor, or the first of a part of the graph."""
    names = [node.name for node in plan.nodes]
    return graph.JOB_NODE if graph.JOB_NODE in names else names[0]


def read_result(directory: Path, ending: Ending) -> dict[str, Any]:
    """The actor's result, or what is known of a run that did not end well."""
    path = directory / RESULT
    written = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known = {
        "success": None,
        "success_deterministic": None,
        "success_sampled": None,
        "episodes": ending.progress.value("actor/episodes"),
        "env_steps": ending.progress.value("actor/env_steps"),
        "updates": ending.progress.value("learner/updates"),
    }
    return {
        **known,
        **written,
        "ended": ending.how,
        "reason": ending.reason,
        "wall_s": ending.wall_s,
    }


def describe_evaluation(result: Mapping[str, Any], policy: str) -> str:
    """One policy's success with its interval and mean time, in words."""
    trials = int(result["evaluation_episodes"])
    rate = result[f"success_{policy}"]
    low, high = result[f"interval_{policy}"]
    time = result[f"mean_time_s_{policy}"]
    text = f"{policy} policy: {round(rate * trials)} of {trials} = {rate:.0%}"
    text += f" (95 % interval {low:.0%}-{high:.0%})"
    if (true := result.get(f"true_success_{policy}")) is not None:  # a classifier counted
        text += f", truly {true:.0%}"
    return text + (f", mean time {time:.1f} s" if time is not None else "")


def describe_success(result: Mapping[str, Any]) -> list[str]:
    """The chosen policy first, then the other."""
    other = {"sampled": "deterministic", "deterministic": "sampled"}[result["policy"]]
    return [
        f"success        {describe_evaluation(result, result['policy'])}  <- chosen",
        f"               {describe_evaluation(result, other)}",
    ]


def repeat_command(verb: str, arguments: argparse.Namespace) -> str:
    """The command line that reaches the same run directory with another verb."""
    words = ["./serl", verb, arguments.task]
    words += ["--seed", str(arguments.seed)] if arguments.seed is not None else []
    words += ["--state"] if arguments.observation is not None else []
    words += ["--runs", str(arguments.runs)] if arguments.runs != Path("runs") else []
    return shlex.join([*words, *arguments.assignments])
