"""arm/* outlives the controller's node: stand-in states, recovery, joint moves, gripper."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from fakes import LAW, URDF, FakeGripper, FakeLaw, FakeManager, FakeRobot, Probe
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float32, String
from std_srvs.srv import Trigger

from serl_controllers.arm import ArmMode
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import COMMAND, STATE, STATUS
from serl_franka_bringup import arm_manager_node, arm_supervision
from serl_franka_bringup.arm_manager_node import ArmManagerNode
from serl_franka_bringup.arm_steps import Action, RobotMode, RobotReport, Step
from serl_franka_bringup.gripper import GripperOrder
from serl_franka_bringup.ros_calls import MissingPackage
from serl_interfaces.action import JointReset
from serl_interfaces.msg import ArmCommand, NodeStatus

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PARAMETERS = {"supervision.robot_reports": True, "gripper.kind": "franka"}


class Arm:
    """The manager among fakes."""

    def __init__(self, bench, monkeypatch) -> None:
        self.manager, self.robot, self.gripper = FakeManager(), FakeRobot(), FakeGripper()
        monkeypatch.setattr(arm_manager_node, "ControllerManager", lambda *_: self.manager)
        monkeypatch.setattr(arm_manager_node, "FrankaRobot", lambda *_: self.robot)
        monkeypatch.setattr(arm_supervision, "SILENCE", 1.0)  # all nodes share the test's thread
        monkeypatch.setattr(arm_manager_node, "make_gripper", lambda *_: self.gripper)
        self.node = bench.add(ArmManagerNode, parameters=PARAMETERS)
        self.law = bench.add(FakeLaw, self.manager)
        self.probe = bench.add(Probe, bench)
        self.recovers = self.probe.create_client(Trigger, "arm/recover")
        self.probe.next_state(lambda s: s.mode is ArmMode.IMPEDANCE)

    def describe(self) -> None:
        self.description = self.probe.create_publisher(String, "robot_description", LATCHED)
        self.description.publish(String(data=URDF))
        self.probe.bench.wait(lambda: self.node._description, "the description")

    def move(self, q):
        """Sends a joint reset and returns its goal handle."""
        mover = self.probe.bench.action_client(self.probe, JointReset, "arm/joint_reset")
        future = mover.send_goal_async(JointReset.Goal(q=q, max_velocity=1.0))
        return self.probe.bench.wait(lambda: future.done() and future.result(), "an answer")

    def result(self, handle) -> JointReset.Result:
        future = handle.get_result_async()
        return self.probe.bench.wait(lambda: future.done() and future.result().result, "a result")


@pytest.fixture
def arm(bench, monkeypatch) -> Arm:
    return Arm(bench, monkeypatch)


def test_it_brings_the_controller_up_and_is_silent_while_that_publishes(arm):
    assert arm.manager.done[-1] == Step(Action.ACTIVATE, LAW)
    for _ in range(20):
        state = arm.probe.next_state()
        assert (state.mode, state.gripper) == (ArmMode.IMPEDANCE, pytest.approx(0.4))


def test_a_reflex_that_takes_the_node_down_leaves_arm_state_fresh_until_a_person_recovers(arm):
    arm.robot.report = RobotReport(RobotMode.REFLEX, ("cartesian_reflex",))
    before = arm.probe.next_state()
    arm.manager.states = None
    state = arm.probe.next_state(lambda s: s.mode is ArmMode.REFLEX)
    assert state.stamp_ns > before.stamp_ns
    assert state.tcp_pose.distance(before.tcp_pose)[0] < 1e-9
    later = arm.probe.next_state(lambda s: s.wrench[5] == 5.0)  # the robot goes on measuring
    np.testing.assert_allclose(later.q, 0.1)
    assert later.gripper == 1.0

    arm.manager.states = {}
    arm.probe.bench.wait(lambda: (arm.manager.states or {}).get(LAW) == "inactive", "the respawn")
    for _ in range(30):
        assert arm.probe.next_state().mode is ArmMode.REFLEX
    assert arm.robot.cleared == 0

    answer = arm.probe.call(arm.recovers, Trigger.Request())
    assert answer.success, answer.message
    assert arm.robot.cleared == 1
    assert arm.probe.next_state().mode is ArmMode.IMPEDANCE


def test_stand_in_states_come_at_their_rate(arm):
    arm.manager.states = None
    arm.probe.next_state(lambda s: s.mode is ArmMode.FAULT)
    first = len(arm.probe.heard_at)
    arm.probe.bench.wait(lambda: len(arm.probe.heard_at) > first + 100, "states")
    times = arm.probe.heard_at[first:]
    assert np.median(np.diff(times)) < 0.02


def test_a_node_that_dies_otherwise_is_brought_back(arm):
    arm.manager.states = None
    arm.probe.next_state(lambda s: s.mode is ArmMode.FAULT)
    arm.manager.states = {}
    arm.probe.next_state(lambda s: s.mode is ArmMode.IMPEDANCE)


def test_recover_of_a_sound_arm_does_nothing(arm):
    answer = arm.probe.call(arm.recovers, Trigger.Request())
    assert answer.success
    assert "nothing to recover" in answer.message
    assert arm.robot.cleared == 0


def test_a_joint_reset_goes_through_the_controller(arm):
    arm.describe()
    goal = np.array((0.3, -0.2, 0.1, 0.2, 0.0, 0.1, 0.3))
    ended = arm.result(arm.move(goal))
    assert ended.success, ended.message
    np.testing.assert_allclose(ended.q, goal, atol=1e-6)


def test_a_joint_reset_out_of_limits_names_joint_and_limit(arm):
    arm.describe()
    ended = arm.result(arm.move(np.array((0.0, 0.0, 2.6, 0.0, 0.0, 0.0, 0.0))))
    assert not ended.success
    assert "fr3_joint3 is 2.6 rad, allowed are -2.5 .. 2.5" in ended.message
    assert arm.law.goal is None


def test_without_a_description_no_joint_moves(arm):
    assert "no robot_description" in arm.result(arm.move(np.zeros(7))).message


def test_a_cancelled_joint_reset_tells_the_controller_to_brake(arm):
    arm.describe()
    arm.law.speed = 0.1  # it is still under way when the order comes
    handle = arm.move(np.full(7, 2.0))
    arm.probe.next_state(lambda s: s.mode is ArmMode.JOINT_MOVE and s.q[0] > 0.02)
    handle.cancel_goal_async()
    ended = arm.result(handle)
    assert "cancelled" in ended.message
    assert ended.q[0] < 1.9


def test_a_joint_reset_ends_when_the_arm_breaks(arm):
    arm.describe()
    handle = arm.move(np.full(7, 2.0))
    arm.probe.next_state(lambda s: s.mode is ArmMode.JOINT_MOVE)
    arm.manager.states = None
    assert "the arm is in mode FAULT" in arm.result(handle).message


def test_the_gripper_hears_changes_only_and_its_opening_is_told(arm):
    commands = arm.probe.create_publisher(ArmCommand, "arm/command", COMMAND)
    openings: list[float] = []
    arm.probe.create_subscription(Float32, "arm/gripper", lambda m: openings.append(m.data), STATE)
    arm.probe.bench.wait(commands.get_subscription_count, "the manager")
    for opening in (0.9, 0.8, 0.1, 0.0):
        commands.publish(ArmCommand(gripper=opening, has_gripper=True))
        arm.probe.next_state()
    commands.publish(ArmCommand(gripper=1.0, has_gripper=False))
    arm.probe.bench.wait(lambda: openings and openings[-1] == 0.0, "the gripper to close")
    assert arm.gripper.orders in (
        [GripperOrder(1.0), GripperOrder(0.0, grasp=True)],
        [GripperOrder(0.0, grasp=True)],
    )


def test_it_says_what_it_waits_for(arm):
    statuses: list[NodeStatus] = []
    arm.probe.create_subscription(NodeStatus, "status", statuses.append, STATUS)
    arm.robot.report = RobotReport(RobotMode.REFLEX, ("joint_reflex",))
    arm.manager.states[LAW] = "inactive"
    status = arm.probe.bench.wait(
        lambda: next((s for s in statuses if s.phase == "reflex"), None), "the status"
    )
    assert status.waiting_for == "arm/recover, when it is safe"
    assert "joint_reflex" in status.detail


def test_a_missing_package_is_named(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", None)  # as where it is missing
    monkeypatch.delitem(sys.modules, "controller_manager_msgs.srv", raising=False)
    with pytest.raises(MissingPackage, match="ros-jazzy-controller-manager-msgs"):
        bench.add(ArmManagerNode)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gripper.kind", "hand", "kind 'hand'"),
        ("joints", ["a", "b"], "joints has 2 names"),
        ("state_rate", 0.0, "state_rate is 0.0 Hz"),
        ("supervision.robot_report", True, "supervision.robot_report"),
    ],
)
def test_wrong_parameters_are_named(bench, name, value, message):
    with pytest.raises((ParameterError, ValueError), match=message):
        bench.add(ArmManagerNode, parameters={name: value})
