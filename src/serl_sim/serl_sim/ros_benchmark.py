"""What a control period costs through ROS: a sim node in a process of its own, and a commander."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import state_from_msg, target_to_msg
from serl_controllers.ros_qos import COMMAND, STATE
from serl_interfaces.msg import ArmCommand, RobotState
from serl_interfaces.srv import ResetScene
from serl_sim.benchmark import EPISODE_STEPS, REFERENCE
from serl_sim.ros_sim_config import SimNodeConfig

DEADLINE = 30.0
"""Longest wait for the sim node [s]."""

RETRY = 0.5
"""A command that nothing answers for so long is sent again [s]."""


def lockstep_steps(domain_id: int, steps: int = 1000) -> dict[str, Any]:
    """Control periods per second through arm/command and arm/state, resets included.

    Args:
      domain_id: ROS domain that nobody else uses.
      steps: how many to time.

    Raises:
      TimeoutError: the sim node does not answer.
    """
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain_id)}
    command = [sys.executable, "-m", "serl_sim.sim_node"]
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain_id)
    commander = _Commander(context)
    with subprocess.Popen(command, env=environment) as process:
        try:
            commander.wait_for_sim()
            _drive(commander, EPISODE_STEPS // 2)  # first messages are slower
            start = time.perf_counter()
            _drive(commander, steps)
            rate = steps / (time.perf_counter() - start)
        finally:
            process.terminate()
            commander.close()  # else it stays in the graph, as a rival, until it is collected
            rclpy.shutdown(context=context)
    return {
        "name": "lockstep steps through ROS",
        "value": rate,
        "unit": "1/s",
        "reference": REFERENCE,
        "ratio": rate / REFERENCE,
    }


def _drive(commander: _Commander, steps: int) -> None:
    push = Pose.from_rotation_vector((0.001, 0.0, 0.005), (0.0, 0.0, 0.0))
    for i in range(steps):
        if i % EPISODE_STEPS == 0:
            state = commander.reset(i)
        state = commander.step(state.tcp_pose @ push, state.command_seq + 1)


class _Commander(Node):
    """Sends a command and waits for the state that answers it."""

    def __init__(self, context: rclpy.Context) -> None:
        super().__init__("commander", context=context)
        self._frame = SimNodeConfig.frame_id
        self._state: ArmState | None = None
        self._commands = self.create_publisher(ArmCommand, "arm/command", COMMAND)
        self._resets = self.create_client(ResetScene, "reset_scene")
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        self._spinner = SingleThreadedExecutor(context=context)
        self._spinner.add_node(self)

    def wait_for_sim(self) -> None:
        """Raises TimeoutError if it does not come."""
        self._wait(
            lambda: self._resets.service_is_ready() and self._commands.get_subscription_count()
        )

    def close(self) -> None:
        """Leaves the graph."""
        self._spinner.shutdown()
        self.destroy_node()

    def _on_state(self, message: RobotState) -> None:
        self._state = state_from_msg(message)

    def _wait(self, condition: Any, limit: float = DEADLINE) -> None:
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the sim node did not answer within {limit} s")
            self._spinner.spin_once(timeout_sec=0.1)

    def reset(self, seed: int) -> ArmState:
        """Asks until an answer comes: one to a client just discovered may get lost."""
        futures: list[Any] = []
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            futures.append(self._resets.call_async(ResetScene.Request(seed=seed, randomise=True)))
            try:
                self._wait(lambda: any(future.done() for future in futures), 2.0)
            except TimeoutError:
                continue
            answered = next(future for future in futures if future.done())
            return state_from_msg(answered.result().state)
        raise TimeoutError(f"reset_scene was not answered within {DEADLINE} s")

    def step(self, pose: Pose, seq: int) -> ArmState:
        message = target_to_msg(ArmTarget(pose), seq, 0, self._frame)
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            self._commands.publish(message)
            try:
                self._wait(lambda: self._state and self._state.command_seq == seq, RETRY)
            except TimeoutError:
                continue
            return self._state
        raise TimeoutError(f"command {seq} was not answered within {DEADLINE} s")
