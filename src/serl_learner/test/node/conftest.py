"""Real nodes in a ROS domain of their own, driven by one executor until a condition holds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from actor_probe import SMALL, ActorProbe

from serl_controllers.ros_testing import Bench, own_domain
from serl_learner.learner_node import LearnerNode

DEADLINE = 60.0
"""Longest wait for a condition [s]: compiling on a busy machine takes its time."""


@pytest.fixture(scope="session")
def domain():
    with own_domain() as number:
        yield number


class LearnerBench(Bench):
    """Learners finish their work before they go."""

    def remove(self, node):
        if isinstance(node, LearnerNode):
            node.close()
        super().remove(node)


@pytest.fixture
def bench(domain):
    made = LearnerBench(domain, DEADLINE)
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
