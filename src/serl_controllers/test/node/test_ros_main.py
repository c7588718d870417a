"""A node's process: ends when told to, and takes no more memory for having answered more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, tracemalloc
from rclpy.node import Node
from serl_controllers.ros_main import run

class Counter(Node):
    def __init__(self):
        super().__init__("counter")
        self.calls, self.before = 0, 0
        self.create_timer(0.0005, self.count)

    def count(self):
        self.calls += 1
        if self.calls == 500:
            self.before = tracemalloc.get_traced_memory()[0]
        if self.calls == 2500:
            print(tracemalloc.get_traced_memory()[0] - self.before, flush=True)
            os.kill(os.getpid(), signal.SIGINT)

tracemalloc.start()
run("counter", Counter, fast=sys.argv[1] == "fast")
"""


@pytest.mark.parametrize("executor", ["fast", "plain"])
def test_a_node_takes_no_more_memory_for_each_message(executor):
    """2,000 callbacks; a few hundred bytes each would be half a megabyte."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, executor],
        env={**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 50_000
