"""The real actor node beside a fake sim and a fake learner, in a ROS domain of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from fakes import FakeLearner, FakeSim
from rclpy.action import ActionClient
from rclpy.node import Node

from serl_actor.actor_node import ActorNode
from serl_controllers.ros_testing import Bench, own_domain
from serl_interfaces.action import Evaluate

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
    with own_domain() as number:
        yield number


class ActorBench(Bench):
    """The real actor beside the fakes; its job's thread ends before any node does."""

    def actor(self, **parameters) -> ActorNode:
        """A started actor; `__` in a name stands for a dot."""
        values = {**SHORT, **{name.replace("__", "."): v for name, v in parameters.items()}}
        actor = self.add(ActorNode, parameters=values)
        actor.start()
        return actor

    def sim(self, **kwargs) -> FakeSim:
        return self.add(FakeSim, **kwargs)

    def learner(self, **kwargs) -> FakeLearner:
        return self.add(FakeLearner, **kwargs)

    def wait(self, condition, what: str, learner: FakeLearner | None = None, deadline=None):
        """As of Bench; a failure shows what nodes last said to `learner`."""
        said = str if learner is None else lambda: learner.statuses[-3:]
        return super().wait(condition, what, said, deadline)

    def wait_phase(self, learner: FakeLearner, phase: str):
        return self.wait(lambda: learner.phase == phase, f"phase {phase}", learner)

    def evaluation(self, node: Node) -> ActionClient:
        """A client that has found the actor's `evaluate` action."""
        return self.action_client(node, Evaluate, "evaluate")

    def close(self):
        for node in self._nodes:
            if isinstance(node, ActorNode):
                assert node.stop(self.spin), "the job's thread did not end"
        super().close()


@pytest.fixture
def bench(domain):
    made = ActorBench(domain, DEADLINE)
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
