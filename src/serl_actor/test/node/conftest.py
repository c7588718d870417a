"""The real actor node beside a fake sim and a fake learner, in a ROS domain of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest
import rclpy
from fakes import FakeLearner, FakeSim
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from serl_actor.actor_node import ActorNode

DEADLINE = 60.0
"""Longest wait for a condition [s]; on an idle machine all come within a few."""

SHORT = {
    "task.start_height": 0.02,
    "task.random_xy": 0.0,
    "task.random_yaw": 0.0,
    "task.episode_steps": 4,
    "agent.hidden": [8],
    "robot.retry_period": 0.1,
    "sender.retry_period": 0.2,
    "job.demonstrations": 0,
    "job.max_env_steps": 4,
    "job.evaluation_episodes": 1,
}
"""A job of seconds: the start is two steps above the target."""


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
    """Nodes that the test itself spins."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._nodes = []

    def add(self, kind, *args, **kwargs):
        node = kind(*args, context=self.context, **kwargs)
        self._nodes.append(node)
        self._executor.add_node(node)
        return node

    def actor(self, **parameters) -> ActorNode:
        """A started actor; `__` in a name stands for a dot."""
        values = {**SHORT, **{name.replace("__", "."): v for name, v in parameters.items()}}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        actor = self.add(ActorNode, parameter_overrides=overrides)
        actor.start()
        return actor

    def sim(self, **kwargs) -> FakeSim:
        return self.add(FakeSim, **kwargs)

    def learner(self, **kwargs) -> FakeLearner:
        return self.add(FakeLearner, **kwargs)

    def wait(self, condition, what: str, learner: FakeLearner | None = None, deadline=DEADLINE):
        """Spins until `condition()` is true and returns its value; else shows what was said."""
        give_up = time.monotonic() + deadline
        while not (value := condition()):
            said = [] if learner is None else learner.statuses[-3:]
            assert time.monotonic() < give_up, f"waited {deadline} s for {what}; {said}"
            self._spin()
        return value

    def _spin(self):
        self._executor.spin_once(timeout_sec=0.05)

    def wait_phase(self, learner: FakeLearner, phase: str):
        return self.wait(lambda: learner.phase == phase, f"phase {phase}", learner)

    def close(self):
        for node in self._nodes:
            if isinstance(node, ActorNode):
                assert node.stop(self._spin), "the job's thread did not end"
        for node in self._nodes:
            self._executor.remove_node(node)
            node.destroy_node()
        self._executor.shutdown()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def bench(domain):
    made = Bench(domain)
    yield made
    made.close()


@pytest.fixture
def start(domain):
    """Starts an actor process; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def run(**parameters: object) -> subprocess.Popen[str]:
        values = {**SHORT, **{name.replace("__", "."): v for name, v in parameters.items()}}
        command = [sys.executable, "-m", "serl_actor.actor_node", "--ros-args"]
        for name, value in values.items():
            command += ["-p", f"{name}:={value}"]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "JAX_PLATFORMS": "cpu"}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()
