"""rclpy and messages stay in ros_*.py and *_node.py; this package imports none above it."""

from __future__ import annotations

import ast
import pathlib

import pytest

import serl_controllers
from serl_controllers import _binding

SOURCES = sorted(pathlib.Path(serl_controllers.__file__).parent.glob("*.py"))
ROS = {"rclpy", "rcl_interfaces", "builtin_interfaces", "geometry_msgs", "std_msgs"}
ABOVE = {"serl_learner", "serl_actor", "serl_sim", "serl_franka_bringup"}


def imported(path: pathlib.Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_imports_point_down(path):
    names = imported(path)
    assert not names & ABOVE
    if not (path.name.startswith("ros_") or path.name.endswith("_node.py")):
        assert not names & (ROS | {"serl_interfaces"})


def test_values_need_neither_the_compiled_module_nor_mujoco():
    plain = [p for p in SOURCES if p.name in ("__init__.py", "geometry.py", "arm.py")]
    assert len(plain) == 3
    top = [n for p in plain for n in ast.parse(p.read_text()).body if isinstance(n, ast.Import)]
    assert not {alias.name for node in top for alias in node.names} & {"mujoco"}


def test_the_stub_names_what_the_compiled_module_has():
    stub = pathlib.Path(serl_controllers.__file__).with_name("_binding.pyi")
    tree = ast.parse(stub.read_text())
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    names = functions | {c.name for c in classes}
    assert names == {n for n in vars(_binding) if not n.startswith("__")}
    for stubbed in classes:
        methods = {n.name for n in stubbed.body if isinstance(n, ast.FunctionDef)} - {"__init__"}
        compiled = vars(getattr(_binding, stubbed.name))
        assert methods == {n for n in compiled if not n.startswith("__")}
