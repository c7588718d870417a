"""`doctor`: says what is there, what is missing and what to do about it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path

from serl_franka_bringup import checks
from serl_franka_bringup.output import write_json

HELP = "check this machine and say what is missing"
EXAMPLES = "example: ./serl doctor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are kept")


def run(arguments: argparse.Namespace) -> int:
    """Prints one line per finding; 1 if anything needed is missing."""
    findings = checks.run_checks(
        [
            checks.check_python,
            checks.check_workspace,
            _check_ros,
            _check_transport,
            checks.check_devices,
            checks.check_gl,
            checks.check_processor,
            checks.check_memory,
            partial(checks.check_disk, arguments.runs),
            checks.check_clock,
        ]
    )
    for finding in findings:
        advice = f"  -> {finding.advice}" if finding.advice else ""
        print(f"{finding.level:<5}{finding.subject:<15}{finding.found}{advice}")
    failed = [finding for finding in findings if finding.level == checks.FAIL]
    write_json(
        arguments.json,
        {"success": not failed, "findings": [asdict(finding) for finding in findings]},
    )
    return 1 if failed else 0


def _check_ros() -> list[checks.Finding]:
    from serl_franka_bringup.ros_checks import check_ros

    return check_ros()


def _check_transport() -> list[checks.Finding]:
    from serl_franka_bringup.ros_checks import check_transport

    return check_transport()
