"""The robot over its ROS topics: arm/command, arm/state, reset_scene, intervention."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from serl_actor.intervention import Intervention
from serl_actor.robot_client import RobotError, StaleState
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import ns_from_time, pose_to_msg, state_from_msg, target_to_msg
from serl_controllers.ros_qos import COMMAND, INTERVENTION, STATE
from serl_interfaces.msg import ArmCommand, RobotState
from serl_interfaces.msg import Intervention as InterventionMsg
from serl_interfaces.srv import ResetScene


@dataclass(frozen=True)
class RobotClientConfig:
    """Wall-clock limits of the exchange with the robot.

    Attributes:
      frame_id: the arm's base frame.
      retry_period: silence after which the same command number is sent again [s].
      state_timeout: silence after which the state counts as stale [s].
      reset_timeout: for a reset [s].
      operator_timeout: for an operator's answer to a state [s].
    """

    frame_id: str = "fr3_link0"
    retry_period: float = 0.5
    state_timeout: float = 3.0
    reset_timeout: float = 10.0
    operator_timeout: float = 3.0

    def __post_init__(self) -> None:
        if not 0.0 < self.retry_period <= self.state_timeout:
            raise ValueError(
                f"retry_period {self.retry_period} s is not in 0 .. state_timeout "
                f"({self.state_timeout} s)"
            )


class RosRobotClient:
    """RobotClient in lockstep: a command number is answered by the state that carries it.

    Called from the rollout's thread only; callbacks store and notify. `waiting` is told what a
    call waits for when it takes long, and may raise to cancel it.
    """

    def __init__(
        self, node: Node, config: RobotClientConfig, waiting: Callable[[str], None]
    ) -> None:
        self._node = node
        self._config = config
        self._waiting = waiting
        self._changed = threading.Condition()
        self._state: ArmState | None = None
        self._intervention: Intervention | None = None
        self._command_seq = 0
        self._commands = node.create_publisher(ArmCommand, "arm/command", COMMAND)
        self._reset = node.create_client(ResetScene, "reset_scene")
        node.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        node.create_subscription(
            InterventionMsg, "intervention", self._on_intervention, INTERVENTION
        )

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Resets the scene with the tool at `start`.

        Raises:
          RobotError: refused, saying why, or no answer within reset_timeout.
        """
        while not self._reset.wait_for_service(timeout_sec=0.5):
            self._waiting("the robot (service reset_scene)")
        request = ResetScene.Request(
            seed=seed, randomise=True, has_start=True, start=pose_to_msg(start)
        )
        done = threading.Event()
        future = self._reset.call_async(request)
        future.add_done_callback(lambda _: done.set())
        if not self._wait_event(done, self._config.reset_timeout, "an answer to reset_scene"):
            self._reset.remove_pending_request(future)
            raise RobotError(f"no answer to reset_scene within {self._config.reset_timeout} s")
        response = future.result()
        if not response.success:
            raise RobotError(f"reset_scene refused: {response.message}")
        state = state_from_msg(response.state)
        with self._changed:
            self._command_seq = state.command_seq
            self._state = state
        return state

    def step(self, target: ArmTarget) -> ArmState:
        """Sends the next command and returns the state that answers it.

        Raises:
          StaleState: no answer within state_timeout, or the command was refused.
        """
        self._command_seq += 1
        started = time.monotonic()
        while True:
            self._send(target)
            state = self._answer(self._config.retry_period)
            if state is not None:
                return state
            silent = time.monotonic() - started
            if silent > self._config.state_timeout:
                raise StaleState(
                    f"no state answered command {self._command_seq} for {silent:.1f} s, limit "
                    f"{self._config.state_timeout} s"
                )
            self._waiting("arm/state")

    def hold(self) -> None:
        """Commands the pose that the arm has."""
        if self._state is None or self._command_seq == 0:
            return
        self._command_seq += 1
        self._send(ArmTarget(self._state.tcp_pose))

    def intervention(self, state: ArmState) -> Intervention | None:
        """The operator's answer to `state`, matched by its stamp; None after operator_timeout."""
        deadline = time.monotonic() + self._config.operator_timeout
        while time.monotonic() < deadline:
            with self._changed:
                if self._changed.wait_for(lambda: self._answers(state), 0.5):
                    return self._intervention
            self._send_again()
            self._waiting("an operator on intervention")
        return None

    def close(self) -> None:
        """Holds; the node owns the topics."""
        self.hold()

    def _send(self, target: ArmTarget) -> None:
        self._target = target
        stamp = 0 if self._state is None else self._state.stamp_ns
        self._commands.publish(
            target_to_msg(target, self._command_seq, stamp, self._config.frame_id)
        )

    def _send_again(self) -> None:
        """Asks for the state once more: the operator may have missed it."""
        if self._command_seq > 0:
            self._send(self._target)

    def _answer(self, timeout: float) -> ArmState | None:
        with self._changed:
            answered = self._changed.wait_for(
                lambda: self._state is not None and self._state.command_seq == self._command_seq,
                timeout,
            )
            return self._state if answered else None

    def _answers(self, state: ArmState) -> bool:
        return (
            self._intervention is not None and self._intervention.state_stamp_ns == state.stamp_ns
        )

    def _wait_event(self, event: threading.Event, timeout: float, what: str) -> bool:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if event.wait(0.5):
                return True
            self._waiting(what)
        return False

    def _on_state(self, message: RobotState) -> None:
        state = state_from_msg(message)
        with self._changed:
            if self._state is None or state.stamp_ns >= self._state.stamp_ns:
                self._state = state
                self._changed.notify_all()

    def _on_intervention(self, message: InterventionMsg) -> None:
        intervention = Intervention(
            state_stamp_ns=ns_from_time(message.state_stamp),
            active=bool(message.active),
            twist=np.array(message.twist, dtype=np.float64),
            frame_id=message.header.frame_id,
            gripper=float(message.gripper),
            buttons=tuple(message.buttons),
            device=message.device,
        )
        if not np.all(np.isfinite(intervention.twist)):
            self._node.get_logger().warning(
                f"intervention of {message.device!r} dropped: twist {message.twist} is not finite",
                throttle_duration_sec=5.0,
            )
            return
        with self._changed:
            self._intervention = intervention
            self._changed.notify_all()
