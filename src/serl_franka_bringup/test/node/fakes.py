"""In place of the robot PC's drivers: a controller_manager, a robot, and a law that is followed."""

from __future__ import annotations

import time

import numpy as np
from rclpy.node import Node

from serl_controllers.arm import ArmMode, ArmState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import state_from_msg, state_to_msg
from serl_controllers.ros_qos import COMMAND, STATE
from serl_franka_bringup.arm_steps import Action, RobotMode, RobotReport, Step
from serl_franka_bringup.ros_franka import FrankaLook
from serl_interfaces.msg import JointCommand, RobotState

LAW = "cartesian_impedance_controller"
URDF = "<robot name='fr3'>{}</robot>".format(
    "".join(
        f"<joint name='fr3_joint{i}' type='revolute'>"
        "<limit lower='-2.5' upper='2.5' velocity='2.0'/></joint>"
        for i in range(1, 8)
    )
)


class FakeManager:
    """A controller_manager whose node can die; `states` as ControllerManager's."""

    def __init__(self) -> None:
        self.states: dict[str, str] | None = {}
        self.hardware: dict[str, str] | None = {"FrankaHardwareInterface": "active"}
        self.done: list[Step] = []

    def poll(self) -> None:
        """The list is always fresh."""

    def carry_out(self, step: Step, done) -> None:
        if self.states is None:
            done(False, "no service")
            return
        after = {Action.LOAD: "unconfigured", Action.CONFIGURE: "inactive"}
        of = self.hardware if step.action is Action.RESTORE_HARDWARE else self.states
        of[step.name] = after.get(step.action, "active")
        self.done.append(step)
        done(True, "")

    @property
    def active(self) -> bool:
        return self.states is not None and self.states.get(LAW) == "active"


class FakeRobot:
    """A robot that reports its mode."""

    def __init__(self) -> None:
        self.report = RobotReport(RobotMode.IDLE)
        self.cleared = 0

    def look(self) -> FrankaLook:
        seven = np.full(7, 0.1)
        return FrankaLook(self.report, seven, np.zeros(7), np.zeros(7), np.arange(6.0))

    def clear_errors(self, done) -> None:
        self.cleared += 1
        self.report = RobotReport(RobotMode.IDLE)
        done(True, "")


class FakeGripper:
    """A gripper that does at once what it is told."""

    def __init__(self) -> None:
        self.opening = 1.0
        self.orders = []

    def carry_out(self, order, done) -> None:
        self.orders.append(order)
        self.opening = order.opening
        done("")


class FakeLaw(Node):
    """Publishes arm/state while its controller is active, and follows arm/joint_command."""

    def __init__(self, manager: FakeManager, **kwargs) -> None:
        super().__init__("controller_manager", **kwargs)
        self.manager = manager
        self.q = np.zeros(7)
        self.mode = ArmMode.IMPEDANCE
        self.goal: np.ndarray | None = None
        self.speed = 1.0
        self.publisher = self.create_publisher(RobotState, "arm/state", STATE)
        self.create_subscription(JointCommand, "arm/joint_command", self.on_joints, COMMAND)
        self.create_timer(0.01, self.tick)

    def on_joints(self, message: JointCommand) -> None:
        self.goal = None if message.cancel else np.array(message.q)

    def tick(self) -> None:
        if not self.manager.active:
            self.goal = None
            return
        if self.goal is not None:
            way = self.goal - self.q
            self.q = self.q + np.clip(way, -0.01 * self.speed, 0.01 * self.speed)
            arrived = np.abs(way).max() < 1e-9
            self.mode = ArmMode.HOLD if arrived else ArmMode.JOINT_MOVE
        elif self.mode is ArmMode.JOINT_MOVE:
            self.mode = ArmMode.HOLD
        self.publisher.publish(state_to_msg(self.state(), "fr3_link0"))

    def state(self) -> ArmState:
        return ArmState(
            stamp_ns=self.get_clock().now().nanoseconds,
            command_seq=3,
            tcp_pose=Pose.from_rpy((0.5, 0.0, 0.3), (np.pi, 0.0, 0.0)),
            tcp_twist=np.zeros(6),
            wrench=np.zeros(6),
            q=self.q,
            dq=np.zeros(7),
            tau_ext=np.zeros(7),
            gripper=0.4,
            mode=self.mode,
            commanded_pose=Pose.identity(),
            error_clipped=np.zeros(6, dtype=bool),
            target_clipped=False,
            torque_saturated=False,
            rejected_commands=0,
        )


class Probe(Node):
    """Hears arm/state and when each came."""

    def __init__(self, bench, **kwargs) -> None:
        super().__init__("actor", **kwargs)
        self.bench = bench
        self.states: list[ArmState] = []
        self.heard_at: list[float] = []
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)

    def _on_state(self, message: RobotState) -> None:
        self.states.append(state_from_msg(message))
        self.heard_at.append(time.monotonic())

    def next_state(self, condition=lambda _: True) -> ArmState:
        """The first from now on that fulfils the condition."""
        first = len(self.states)
        return self.bench.wait(
            lambda: next((s for s in self.states[first:] if condition(s)), None), "a state"
        )

    def call(self, client, request):
        """The answer of a service."""
        self.bench.wait(client.service_is_ready, client.srv_name)
        future = client.call_async(request)
        return self.bench.wait(lambda: future.done() and future.result(), client.srv_name)
