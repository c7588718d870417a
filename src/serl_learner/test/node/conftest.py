"""Real nodes in a ROS domain of their own, driven by one executor until a condition holds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest
import rclpy
from actor_probe import SMALL, ActorProbe
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from serl_learner.learner_node import LearnerNode

DEADLINE = 60.0
"""Longest wait for a condition [s]: compiling on a busy machine takes its time."""


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
        if hasattr(node, "close"):
            node.close()
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


@pytest.fixture
def start(domain):
    """Starts the learner as a process with parameters; killed at the end if it still runs."""
    processes = []

    def _start(**parameters):
        command = [sys.executable, "-m", "serl_learner.learner_node", "--ros-args"]
        for name, value in parameters.items():
            command += ["-p", f"{name.replace('__', '.')}:={value}"]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield _start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def directories(tmp_path):
    """Where a learner keeps things, as its parameters."""
    return {
        "demonstrations_dir": str(tmp_path / "demos"),
        "log_dir": str(tmp_path / "log"),
        "checkpoint_dir": str(tmp_path / "checkpoints"),
    }


@pytest.fixture
def probe(bench):
    """In place of the actor."""
    return bench.add(ActorProbe, bench)


@pytest.fixture
def learner(bench, directories):
    """In the test's own process."""
    return bench.add(LearnerNode, parameters=SMALL | directories)
