"""Real nodes in a ROS domain of their own, driven by one executor until a condition holds."""

from __future__ import annotations

import os
import socket
import time
from importlib.util import find_spec

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

_DRIVERS = ("controller_manager_msgs", "franka_msgs", "control_msgs")
collect_ignore = [] if all(map(find_spec, _DRIVERS)) else ["test_ros_services.py"]
"""The drivers' services are tested where their messages are installed: the ROS wheels lack them."""

DEADLINE = 20.0
"""Longest wait for a condition [s]; on an idle machine all come within milliseconds."""


@pytest.fixture(scope="session")
def domain():
    """A domain id that no other test session has claimed; held by the socket's existence."""
    for offset in range(100):
        number = 1 + (os.getpid() + offset) % 100
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0serl-ros-domain-{number}")
        except OSError:
            claim.close()
            continue
        yield number
        claim.close()
        return
    raise RuntimeError("all ROS domains are in use")


class Bench:
    """Nodes under test beside probes, all spun by the test itself."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._nodes = []

    def add(self, kind, *args, parameters=None, **kwargs):
        """Starts a node; `parameters` as on its command line."""
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        node = kind(*args, context=self.context, parameter_overrides=overrides, **kwargs)
        self._nodes.append(node)
        self._executor.add_node(node)
        return node

    def remove(self, node):
        self._nodes.remove(node)
        self._executor.remove_node(node)
        node.destroy_node()

    def wait(self, condition, what: str):
        """Spins until `condition()` is true and returns its value."""
        deadline = time.monotonic() + DEADLINE
        while not (value := condition()):
            assert time.monotonic() < deadline, f"waited {DEADLINE} s for {what}"
            self._executor.spin_once(timeout_sec=0.05)
        return value

    def close(self):
        for node in list(self._nodes):
            self.remove(node)
        self._executor.shutdown()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def bench(domain):
    made = Bench(domain)
    yield made
    made.close()
