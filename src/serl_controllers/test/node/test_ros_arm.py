"""Arm values survive their messages."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import (
    FrameError,
    ns_from_time,
    state_from_msg,
    state_to_msg,
    target_from_msg,
    target_to_msg,
    time_from_ns,
)
from serl_interfaces.msg import ArmCommand, RobotState

POSE = Pose.from_rpy((0.5669, 0.0021, 0.0536), (3.128, 0.0177, 0.0213))
STATE = ArmState(
    stamp_ns=12_345_678_901,
    command_seq=7,
    tcp_pose=POSE,
    tcp_twist=np.arange(6) * 0.1,
    wrench=np.arange(6) * -1.5,
    q=np.arange(7) * 0.2,
    dq=np.arange(7) * 0.3,
    tau_ext=np.arange(7) * 0.4,
    gripper=0.5,
    mode=ArmMode.HOLD,
    commanded_pose=POSE.inverse(),
    error_clipped=np.array((True, False, False, True, False, False)),
    target_clipped=True,
    torque_saturated=False,
    rejected_commands=3,
)


def plain(value):
    """Poses and arrays as lists, so that values compare."""
    if isinstance(value, Pose):
        return value.to_vector().tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_state_round_trips_through_the_wire():
    wire = serialize_message(state_to_msg(STATE, "base"))
    copy = state_from_msg(deserialize_message(wire, RobotState))
    for field in dataclasses.fields(STATE):
        assert plain(getattr(copy, field.name)) == plain(getattr(STATE, field.name)), field.name
    assert copy.mode is ArmMode.HOLD


@pytest.mark.parametrize("gripper", [None, 0.0, 0.25])
def test_target_round_trips_through_the_wire(gripper):
    command = target_to_msg(ArmTarget(POSE, gripper), 9, 1_500_000_000, "base")
    copy = deserialize_message(serialize_message(command), ArmCommand)
    target = target_from_msg(copy, "base")
    assert plain(target.pose) == plain(POSE)
    assert target.gripper == gripper
    assert (copy.command_seq, ns_from_time(copy.header.stamp)) == (9, 1_500_000_000)


def test_a_target_that_is_not_finite_arrives_so_that_the_law_can_refuse_it():
    bad = ArmTarget(Pose(np.array((np.nan, 0, 0)), POSE.quaternion))
    assert not target_from_msg(target_to_msg(bad, 1, 0, "base"), "base").pose.is_valid


def test_a_command_in_another_frame_is_refused_by_name():
    command = target_to_msg(ArmTarget(POSE), 4, 0, "camera")
    with pytest.raises(FrameError, match="command 4 is in frame 'camera', expected 'base'"):
        target_from_msg(command, "base")


@pytest.mark.parametrize(
    "nanoseconds", [0, 1, 999_999_999, 1_000_000_000, 1_764_483_600_123_456_789]
)
def test_time_keeps_every_nanosecond(nanoseconds):
    assert ns_from_time(time_from_ns(nanoseconds)) == nanoseconds


def test_modes_are_those_of_the_message():
    assert all(getattr(RobotState, mode.name) == mode for mode in ArmMode)
