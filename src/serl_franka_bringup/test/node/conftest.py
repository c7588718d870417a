"""Real nodes in a ROS domain of their own, driven by one executor until a condition holds."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from serl_controllers.ros_testing import Bench, own_domain

_DRIVERS = ("controller_manager_msgs", "franka_msgs", "control_msgs")
collect_ignore = [] if all(map(find_spec, _DRIVERS)) else ["test_ros_services.py"]
"""The drivers' services are tested where their messages are installed: the ROS wheels lack them."""


@pytest.fixture(scope="session")
def domain():
    with own_domain() as number:
        yield number


@pytest.fixture
def bench(domain):
    made = Bench(domain)
    yield made
    made.close()
