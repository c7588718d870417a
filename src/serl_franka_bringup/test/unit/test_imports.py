"""Imports point one way, and ROS appears only where nodes are wired; over all packages."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3]
ALLOWED = {  # package -> workspace packages that it may import
    "serl_interfaces": set(),
    "serl_controllers": {"serl_interfaces"},
    "serl_learner": {"serl_controllers", "serl_interfaces"},
    "serl_actor": {"serl_learner", "serl_controllers", "serl_interfaces"},
    "serl_sim": {"serl_controllers", "serl_interfaces"},
    "serl_franka_bringup": {
        "serl_actor",
        "serl_learner",
        "serl_controllers",
        "serl_interfaces",
        "serl_sim",
    },
}
ROS = {"rclpy", "rcl_interfaces", "rosidl_runtime_py", "launch", "launch_ros"} | {
    f"{name}_msgs" for name in ("std", "geometry", "sensor", "builtin", "action", "diagnostic")
}
ROS |= {"builtin_interfaces", "std_srvs", "serl_interfaces"}


def modules() -> list[Path]:
    return sorted(
        path
        for package in ALLOWED
        for path in (SOURCES / package / package).rglob("*.py")
        if "__pycache__" not in path.parts
    )


def imported_packages(path: Path) -> set[str]:
    """Top-level names of everything a module imports, at any depth of its code."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def may_use_ros(path: Path) -> bool:
    return path.stem.endswith("_node") or path.stem.startswith("ros_")


def identifier(path: Path) -> str:
    return str(path.relative_to(SOURCES))


@pytest.mark.parametrize("path", modules(), ids=identifier)
def test_imports_point_down(path):
    package = path.relative_to(SOURCES).parts[0]
    used = imported_packages(path) & set(ALLOWED) - {package}
    assert used <= ALLOWED[package], f"{package} must not import {used - ALLOWED[package]}"


@pytest.mark.parametrize("path", modules(), ids=identifier)
def test_ros_only_where_nodes_are_wired(path):
    if not may_use_ros(path):
        assert not imported_packages(path) & ROS


def test_every_package_is_looked_at():
    """A package that moves would otherwise drop out of the tests above unseen."""
    found = {path.parent.name for path in SOURCES.glob("*/package.xml")}
    assert found == set(ALLOWED)
