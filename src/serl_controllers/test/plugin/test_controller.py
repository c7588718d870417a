"""The controller in a real controller_manager, MuJoCo as its hardware."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from robot import COMMAND_TIMEOUT, START_Q, TABLE, TABLE_XYZ, TABLE_YAW

from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import target_to_msg
from serl_controllers.ros_qos import COMMAND
from serl_interfaces.msg import ArmCommand

NEAR = (0.002, 0.02)  # [m, rad]


def is_near(state: ArmState, pose: Pose, tolerance: tuple[float, float] = NEAR) -> bool:
    distance = state.tcp_pose.distance(pose)
    return distance[0] < tolerance[0] and distance[1] < tolerance[1]


def offset(pose: Pose, xyz=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)) -> Pose:
    """Moved along and turned about the axes of the base frame."""
    turn = Pose.from_rotation_vector((0.0, 0.0, 0.0), rotation)
    return Pose(pose.position + np.array(xyz), (turn @ pose).quaternion)


def test_takes_the_pose_at_activation_and_holds_it(arm):
    start = arm.states[0]
    assert start.mode is ArmMode.IMPEDANCE
    assert is_near(start, start.commanded_pose)
    arm.wait_for_mode(ArmMode.HOLD)
    for state in arm.spin(1.0):
        assert is_near(state, start.tcp_pose, (5e-4, 5e-3))


def test_publishes_at_least_a_hundred_states_a_second(arm):
    states = arm.spin(2.0)
    assert len(states) / (states[-1].stamp - states[0].stamp) >= 100.0


def test_follows_a_target_and_says_when_the_error_is_clipped(arm):
    target = offset(arm.state.tcp_pose, (0.06, -0.04, 0.03), (0.0, 0.1, 0.25))
    arm.follow(target, lambda: is_near(arm.state, target), "arrival within 2 mm and 0.02 rad")
    assert arm.state.mode is ArmMode.IMPEDANCE
    assert 0 < arm.state.command_seq <= arm.sequence
    assert any(s.error_clipped.any() for s in arm.states)
    arm.follow(target, lambda: not arm.state.error_clipped.any(), "an error within the clips")
    assert np.abs(arm.state.wrench[:3]).max() < 2.0  # nothing touches it


def test_holds_when_commands_stop(arm):
    target = offset(arm.state.tcp_pose, (0.0, 0.0, 0.02))
    arm.follow(target, lambda: arm.state.mode is ArmMode.IMPEDANCE, "motion")
    sent = arm.sequence
    arm.wait(lambda: arm.state.command_seq == sent, "the last command")
    last = arm.state.stamp
    arm.wait_for_mode(ArmMode.HOLD)
    assert arm.state.stamp - last < COMMAND_TIMEOUT + 0.1
    held = arm.spin(1.0)[-1].tcp_pose
    assert all(is_near(state, held, (1e-3, 1e-2)) for state in arm.spin(0.5))
    arm.follow(target, lambda: arm.state.mode is ArmMode.IMPEDANCE, "motion again")


def test_takes_commands_in_a_frame_that_stands_still(arm):
    T_base_table = Pose.from_rotation_vector(TABLE_XYZ, (0.0, 0.0, TABLE_YAW))
    target = offset(arm.state.tcp_pose, (0.01, 0.0, 0.0))
    in_table = T_base_table.inverse() @ target
    arm.follow(in_table, lambda: is_near(arm.state, target), "arrival", TABLE)


@pytest.mark.parametrize("frame", ["link5", "camera", ""])
def test_refuses_commands_in_another_frame(arm, frame):
    start = arm.state
    arm.follow(
        offset(start.tcp_pose, (0.1, 0.0, 0.0)),
        lambda: arm.state.rejected_commands > start.rejected_commands + 20,
        "refusals",
        frame,
    )
    assert arm.state.mode is ArmMode.HOLD
    assert arm.state.command_seq == 0
    assert is_near(arm.state, start.tcp_pose)


def test_holds_on_a_target_that_is_not_finite(arm):
    start = arm.state
    good = offset(start.tcp_pose, (0.0, 0.01, 0.0))
    arm.follow(good, lambda: arm.state.command_seq > 0, "motion")
    arm.send(Pose(np.array((np.nan, 0.0, 0.0)), start.tcp_pose.quaternion))
    arm.wait_for_mode(ArmMode.HOLD)
    assert arm.state.rejected_commands == start.rejected_commands + 1


def test_refuses_everything_while_two_nodes_publish_commands(arm):
    start = arm.state
    context = arm.context
    other = rclpy.create_node("rival", context=context)
    publisher = other.create_publisher(ArmCommand, "arm/command", COMMAND)
    target = offset(start.tcp_pose, (0.0, 0.02, 0.0))
    try:
        arm.follow(
            target, lambda: arm.state.rejected_commands > start.rejected_commands + 5, "refusals"
        )
        publisher.publish(target_to_msg(ArmTarget(target), 1, 0, "link0"))
        arm.follow(target, lambda: arm.state.mode is ArmMode.HOLD, "a hold")
        assert "more than one publishes commands" in arm.log()
    finally:
        other.destroy_node()
    arm.follow(target, lambda: is_near(arm.state, target), "arrival, the rival gone")


def test_changes_compliance_as_a_whole_or_not_at_all(arm):
    assert "softest" in arm.set_parameters(active_compliance="softest")
    reason = arm.set_parameters(
        active_compliance="precision", compliance__precision__stiffness=[9e3] * 6
    )
    assert "stiffness" in reason
    arm.wait_for_mode(ArmMode.HOLD)
    before = arm.state.tcp_pose
    try:
        assert arm.set_parameters(active_compliance="precision") == ""
        assert all(is_near(state, before, (1e-3, 1e-2)) for state in arm.spin(1.0))
    finally:
        assert arm.set_parameters(active_compliance="compliance") == ""


def test_keeps_targets_in_the_box_and_says_so(arm):
    start = arm.state.tcp_pose
    box = {
        "box__position": start.position.tolist(),
        "box__quaternion": start.quaternion.tolist(),
        "box__lower": [-0.01] * 6,
        "box__upper": [0.01] * 6,
    }
    assert "box.upper" in arm.set_parameters(
        box__enabled=True, **{**box, "box__upper": [-0.02] * 6}
    )
    assert arm.set_parameters(box__enabled=True, **box) == ""
    try:
        target = offset(start, (0.1, 0.0, 0.0))
        inside = offset(start, (0.01, 0.0, 0.0))
        arm.follow(target, lambda: is_near(arm.state, inside), "arrival at the wall of the box")
        assert arm.state.target_clipped
    finally:
        assert arm.set_parameters(box__enabled=False) == ""


def test_moves_joints_then_holds(arm):
    target = tuple(np.array(START_Q) + np.array((0.2, -0.1, 0.1, 0.1, 0.0, -0.1, 0.2)))
    arm.move_joints(target, 0.5)
    arm.wait_for_mode(ArmMode.JOINT_MOVE)
    arm.wait_for_mode(ArmMode.HOLD)
    np.testing.assert_allclose(arm.state.q, target, atol=0.01)


def test_starts_afresh_after_each_activation(arm):
    target = offset(arm.state.tcp_pose, (0.0, 0.03, 0.0))
    arm.follow(target, lambda: arm.state.command_seq > 0, "motion")
    arm.stop_controller()
    arm.send(offset(target, (0.0, 0.0, 0.1)))  # to nobody
    arm.start_controller()
    first = arm.states[0]
    assert first.command_seq == 0
    assert is_near(first, first.commanded_pose, (5e-3, 5e-2))
    arm.stop_controller()
    arm.clean_controller_up()
    assert arm.controller_state() == "unconfigured"
    arm.start_controller()
    assert arm.state.mode in (ArmMode.IMPEDANCE, ArmMode.HOLD)
