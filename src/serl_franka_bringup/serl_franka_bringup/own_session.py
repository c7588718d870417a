"""A training session for a measurement: fresh, with a directory and demonstrations of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from serl_franka_bringup import graph
from serl_franka_bringup.plan import Plan, make_plan
from serl_franka_bringup.run_directory import RunDirectory
from serl_franka_bringup.session import Companion, Ending, run_session
from serl_franka_bringup.settings import assignments

ENDLESS = 10**9
"""Environment steps: more than are made in any time."""


def own_directory(given: argparse.Namespace, kind: str = "") -> Path:
    """Below `--runs`, named after task, kind and seed."""
    return (given.runs / f"{Path(given.task).stem}{kind}-seed{given.seed}").absolute()


def plan_own(given: argparse.Namespace, directory: Path, options: Mapping[str, Any]) -> Plan:
    """The session of a command line with `--task`, `--seed`, `--observation`, `--runs` and `--set`.

    Args:
      given: what is said there; `--set` wins.
      directory: of the run, and of its demonstrations.
      options: further arguments of the run and parameters of nodes; None: not given.
    """
    said = {
        "seed": given.seed,
        "observation": given.observation,
        "run_dir": directory,
        "demonstrations_dir": directory / "demonstrations",
        **options,
    }
    pairs = [f"{name}:={value}" for name, value in said.items() if value is not None]
    return make_plan(given.task, [*pairs, *assignments(given)], given.runs)


def run_fresh(plan: Plan, companions: Sequence[Companion]) -> Ending:
    """Runs the plan; what an earlier session left in its directory is moved aside."""
    with RunDirectory(plan.directory, fresh=True) as directory:
        directory.save_configuration(graph.configuration(plan.nodes), sys.argv)
        return run_session(plan.nodes, directory, companions=companions)
