"""What a Franka robot says of itself through franka_ros2, and how its errors are cleared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from serl_controllers.arm import ArmState
from serl_controllers.ros_qos import STATE
from serl_franka_bringup.arm_steps import RobotMode, RobotReport
from serl_franka_bringup.ros_calls import Calls, need

BROADCASTER = "franka_robot_state_broadcaster"
CLEAR_TIMEOUT = 10.0  # [s]


@dataclass(frozen=True)
class FrankaLook:
    """One look at the robot: its report, and the measured part of an arm's state."""

    report: RobotReport
    q: np.ndarray  # [7] [rad]
    dq: np.ndarray  # [7] [rad/s]
    tau_ext: np.ndarray  # [7] [N m]
    wrench: np.ndarray  # external, base frame [6] [N, N m]

    def update(self, state: ArmState) -> ArmState:
        """The state with what the robot measures; its poses stay."""
        return replace(state, q=self.q, dq=self.dq, tau_ext=self.tau_ext, wrench=self.wrench)


class FrankaRobot:
    """The state broadcaster's topic and the hardware's recovery action.

    The topic comes at 1 kHz: messages are kept as they arrive and only read when looked at.
    """

    def __init__(self, node: Node, calls: Calls) -> None:
        """Raises MissingPackage."""
        self._calls = calls
        self._type = need("franka_msgs.msg").FrankaRobotState
        actions = need("franka_msgs.action")
        self._goal = actions.ErrorRecovery.Goal
        self._raw: bytes | None = None
        node.create_subscription(
            self._type, f"{BROADCASTER}/robot_state", self._store, STATE, raw=True
        )
        self._recovery = ActionClient(node, actions.ErrorRecovery, "action_server/error_recovery")

    def look(self) -> FrankaLook | None:
        """What the robot said last, since the last look; None: nothing new."""
        raw, self._raw = self._raw, None
        if raw is None:
            return None
        message = deserialize_message(raw, self._type)
        fields = message.current_errors.get_fields_and_field_types()
        errors = tuple(name for name in fields if getattr(message.current_errors, name))
        force = message.o_f_ext_hat_k.wrench.force
        torque = message.o_f_ext_hat_k.wrench.torque
        return FrankaLook(
            RobotReport(RobotMode(message.robot_mode), errors),
            np.array(message.measured_joint_state.position[:7]),
            np.array(message.measured_joint_state.velocity[:7]),
            np.array(message.tau_ext_hat_filtered.effort[:7]),
            np.array((force.x, force.y, force.z, torque.x, torque.y, torque.z)),
        )

    def clear_errors(self, done: Callable[[bool, str], None]) -> None:
        """Automatic error recovery, once."""
        self._calls.act(
            self._recovery,
            self._goal(),
            CLEAR_TIMEOUT,
            lambda answer, why: done(answer is not None, why),
        )

    def _store(self, raw: bytes) -> None:
        self._raw = raw
