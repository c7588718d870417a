"""A controller_manager as its own process, with the controller in it; the test is its operator."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from ament_index_python.packages import get_package_prefix
from operator_node import Operator
from robot import mjcf, parameters, robot_description

from serl_controllers.ros_testing import own_domain


@pytest.fixture(scope="session")
def domain():
    with own_domain() as number:
        yield number


@pytest.fixture(scope="session")
def operator(domain, tmp_path_factory):
    """Talks to a running controller_manager; nothing is loaded yet."""
    folder = tmp_path_factory.mktemp("manager")
    model, values = folder / "arm.xml", folder / "parameters.yaml"
    model.write_text(mjcf())
    values.write_text(parameters())
    prefix = pathlib.Path(get_package_prefix("controller_manager"))
    program = prefix / "lib" / "controller_manager" / "ros2_control_node"
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [program, "--ros-args", "--params-file", values],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        operator = Operator(domain, process, folder / "output.txt")
        try:
            operator.describe(robot_description(str(model)))
            yield operator
        finally:
            operator.close()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def arm(operator):
    """The controller just activated, the arm at rest somewhere."""
    operator.start_controller()
    yield operator
    operator.stop_controller()
