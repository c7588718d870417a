"""`doctor`: says what is there, what is missing and what to do about it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from serl_franka_bringup import checks, robot_checks
from serl_franka_bringup.output import write_json
from serl_franka_bringup.robots import ROBOTS
from serl_franka_bringup.task import config_directory
from serl_franka_bringup.wiggle import check_wiggle

HELP = "check this machine and say what is missing"
EXAMPLES = """examples:
  ./serl doctor
  ./serl doctor --wiggle
  ./serl doctor --robot fr3 --robot-ip 172.16.0.2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are kept")
    parser.add_argument(
        "--robot", choices=ROBOTS, default="sim", help="also what this robot needs (default sim)"
    )
    parser.add_argument("--robot-ip", help="address of the real arm")
    parser.add_argument(
        "--wiggle", action="store_true", help="have a person move every axis of the SpaceMouse"
    )


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
            partial(robot_checks.check_ports, int(os.environ.get("ROS_DOMAIN_ID") or 0)),
            *((partial(check_wiggle, print),) if arguments.wiggle else ()),
            *(_robot_checks(arguments.robot_ip) if arguments.robot == "fr3" else ()),
        ]
    )
    width = max(len(finding.subject) for finding in findings) + 1
    for finding in findings:
        advice = f"  -> {finding.advice}" if finding.advice else ""
        print(f"{finding.level:<5}{finding.subject:<{width}}{finding.found}{advice}")
    failed = [finding for finding in findings if finding.level == checks.FAIL]
    write_json(
        arguments.json,
        {"success": not failed, "findings": [asdict(finding) for finding in findings]},
    )
    return 1 if failed else 0


def _robot_checks(address: str | None) -> list[Callable[[], list[checks.Finding]]]:
    """What only a real arm needs."""
    every: list[Callable[[], list[checks.Finding]]] = [
        robot_checks.check_kernel,
        robot_checks.check_rights,
        robot_checks.check_governor,
        robot_checks.check_drivers,
        robot_checks.check_plugin,
        robot_checks.check_buffers,
        lambda: robot_checks.check_cameras(config_directory() / "cameras.yaml"),
        robot_checks.check_spacemouse,
    ]
    if address:
        every.append(partial(robot_checks.check_robot, address))
    return every


def _check_ros() -> list[checks.Finding]:
    from serl_franka_bringup.ros_checks import check_ros

    return check_ros()


def _check_transport() -> list[checks.Finding]:
    from serl_franka_bringup.ros_checks import check_transport

    return check_transport()
