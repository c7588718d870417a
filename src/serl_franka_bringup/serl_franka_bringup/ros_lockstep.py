"""Measures environment steps per second in lockstep through ROS, against a real sim process."""

from __future__ import annotations

import threading
import time

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import Environment
from serl_actor.ros_robot_client import RobotClientConfig, RosRobotClient
from serl_actor.task import TaskConfig

START_DEADLINE = 30.0  # for the simulator to come up [s]


class NoSimulator(RuntimeError):
    """The simulator did not come up in time."""


def steps_per_second(domain: int, task: TaskConfig, cameras: CamerasConfig, steps: int) -> float:
    """Steps/s of the actor's own environment and client, resets included.

    A sim node must be starting in `domain`. The tool goes down and pushes, so contacts are paid.
    """
    context = Context()
    rclpy.init(context=context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("benchmark", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin, daemon=True)
    spinner.start()
    deadline = time.monotonic() + START_DEADLINE

    def waiting(what: str) -> None:
        if time.monotonic() > deadline:
            raise NoSimulator(f"waited {START_DEADLINE:.0f} s for {what}")

    try:
        robot = RosRobotClient(node, RobotClientConfig(), waiting, cameras.names)
        environment = Environment(robot, task, cameras=cameras)
        environment.reset(seed=0)
        deadline = time.monotonic() + 600.0
        return _measure(environment, steps)
    finally:
        executor.shutdown()
        rclpy.shutdown(context=context)
        spinner.join(2.0)


def _measure(environment: Environment, steps: int) -> float:
    action = np.array((0.1, 0.0, 0.5, 0.0, 0.0, 0.0))
    begin = time.perf_counter()
    for _ in range(steps):
        _, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            environment.reset()
    return steps / (time.perf_counter() - begin)
