"""Grippers behind one protocol: openings 0 closed .. 1 open in, measured opening out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rclpy.action import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import JointState

from serl_controllers.ros_qos import STATE
from serl_franka_bringup.gripper import GripperConfig, GripperOrder
from serl_franka_bringup.ros_calls import Calls, need

TIMEOUT = 10.0
"""Longest time for an order [s]."""

Done = Callable[[str], None]
"""Hears what went wrong; empty: nothing."""


class Gripper(Protocol):
    """A gripper; `opening` is None until it has told it."""

    opening: float | None

    def carry_out(self, order: GripperOrder, done: Done) -> None:
        """Begins an order."""
        ...


class FrankaHand:
    """The Franka Hand through franka_gripper's actions.

    A grasp that closes on nothing, or on something of another size, is no failure: any width
    from closed to open counts.
    """

    def __init__(self, node: Node, calls: Calls, config: GripperConfig) -> None:
        """Raises MissingPackage."""
        actions = need("franka_msgs.action")
        self._actions, self._calls, self._config = actions, calls, config
        self._move = ActionClient(node, actions.Move, "franka_gripper/move")
        self._grasp = ActionClient(node, actions.Grasp, "franka_gripper/grasp")
        self._homing = ActionClient(node, actions.Homing, "franka_gripper/homing")
        self.opening: float | None = None
        node.create_subscription(JointState, "joint_states", self._on_joints, STATE)

    def carry_out(self, order: GripperOrder, done: Done) -> None:
        """Opens with Move, closes with Grasp."""
        config = self._config
        if order.grasp:
            goal = self._actions.Grasp.Goal(
                width=order.opening * config.width, speed=config.speed, force=config.force
            )
            goal.epsilon.inner = goal.epsilon.outer = config.width
            self._calls.act(self._grasp, goal, TIMEOUT, lambda result, why: done(why))
        else:
            goal = self._actions.Move.Goal(width=order.opening * config.width, speed=config.speed)
            self._calls.act(self._move, goal, TIMEOUT, lambda result, why: done(why))

    def home(self, done: Done) -> None:
        """Finds its ends; the fingers move all the way."""
        goal = self._actions.Homing.Goal()
        self._calls.act(self._homing, goal, TIMEOUT, lambda result, why: done(why))

    def _on_joints(self, message: JointState) -> None:
        """Each finger's position is half the width [m]; the arm's joints are not meant."""
        fingers = [p for n, p in zip(message.name, message.position) if "finger" in n]
        if fingers:
            self.opening = _share(sum(fingers), self._config.width)


class RobotiqGripper:
    """A Robotiq 2F through its controller in ros2_robotiq_gripper, whose action on Jazzy is
    ParallelGripperCommand."""

    JOINT = "robotiq_85_left_knuckle_joint"

    def __init__(self, node: Node, calls: Calls, config: GripperConfig) -> None:
        """Raises MissingPackage."""
        action = need("control_msgs.action").ParallelGripperCommand
        self._goal, self._calls, self._config = action.Goal, calls, config
        self._command = ActionClient(node, action, "robotiq_gripper_controller/gripper_cmd")
        self.opening: float | None = None
        node.create_subscription(JointState, "joint_states", self._on_joints, STATE)

    def carry_out(self, order: GripperOrder, done: Done) -> None:
        """Moves its driving joint; being stopped by a held part is what a grasp is for."""
        goal = self._goal()
        goal.command.name = [self.JOINT]
        goal.command.position = [(1.0 - order.opening) * self._config.closed_position]
        self._calls.act(self._command, goal, TIMEOUT, lambda result, why: done(why))

    def _on_joints(self, message: JointState) -> None:
        if self.JOINT in message.name:
            position = message.position[list(message.name).index(self.JOINT)]
            self.opening = 1.0 - _share(position, self._config.closed_position)


def make_gripper(node: Node, calls: Calls, config: GripperConfig) -> Gripper | None:
    """The gripper that the configuration names; None: there is none."""
    kinds: dict[str, Any] = {"franka": FrankaHand, "robotiq": RobotiqGripper}
    return kinds[config.kind](node, calls, config) if config.kind in kinds else None


def _share(value: float, whole: float) -> float:
    return min(max(value / whole, 0.0), 1.0)
