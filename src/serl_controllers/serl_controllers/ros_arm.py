"""Arm values to and from their ROS messages."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Twist, Vector3, Wrench
from geometry_msgs.msg import Pose as PoseMsg
from std_msgs.msg import Header

from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Array, Pose
from serl_interfaces.msg import ArmCommand, RobotState

NANOSECONDS = 1_000_000_000


class FrameError(ValueError):
    """A message in a frame that its receiver cannot use; the message names both."""


def time_from_ns(nanoseconds: int) -> Time:
    """A ROS time of nanoseconds since its epoch, >= 0."""
    seconds, rest = divmod(int(nanoseconds), NANOSECONDS)
    return Time(sec=seconds, nanosec=rest)


def ns_from_time(time: Time) -> int:
    """Nanoseconds since the epoch of a ROS time."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def pose_to_msg(pose: Pose) -> PoseMsg:
    """The same pose as a message."""
    x, y, z = pose.position.tolist()
    qx, qy, qz, qw = pose.quaternion.tolist()
    return PoseMsg(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def pose_from_msg(msg: PoseMsg) -> Pose:
    """The same pose as a value; not checked, see `Pose.is_valid`."""
    p, q = msg.position, msg.orientation
    return Pose(np.array((p.x, p.y, p.z)), np.array((q.x, q.y, q.z, q.w)))


def _vector_to_msg(vector: Array) -> Vector3:
    x, y, z = vector.tolist()
    return Vector3(x=x, y=y, z=z)


def _vector_from_msgs(linear: Vector3, angular: Vector3) -> Array:
    return np.array((linear.x, linear.y, linear.z, angular.x, angular.y, angular.z))


def state_to_msg(state: ArmState, frame_id: str) -> RobotState:
    """The state as a message; `frame_id` names the arm's base frame."""
    return RobotState(
        header=Header(stamp=time_from_ns(state.stamp_ns), frame_id=frame_id),
        command_seq=state.command_seq,
        tcp_pose=pose_to_msg(state.tcp_pose),
        tcp_twist=Twist(
            linear=_vector_to_msg(state.tcp_twist[:3]), angular=_vector_to_msg(state.tcp_twist[3:])
        ),
        external_wrench=Wrench(
            force=_vector_to_msg(state.wrench[:3]), torque=_vector_to_msg(state.wrench[3:])
        ),
        q=state.q,
        dq=state.dq,
        tau_ext=state.tau_ext,
        gripper=float(state.gripper),
        mode=int(state.mode),
        commanded_pose=pose_to_msg(state.commanded_pose),
        error_clipped=[bool(clipped) for clipped in state.error_clipped],
        target_clipped=bool(state.target_clipped),
        torque_saturated=bool(state.torque_saturated),
        rejected_commands=int(state.rejected_commands),
    )


def state_from_msg(msg: RobotState) -> ArmState:
    """The state of a message.

    Raises:
      ValueError: the mode is none of ArmMode; shows it.
    """
    return ArmState(
        stamp_ns=ns_from_time(msg.header.stamp),
        command_seq=int(msg.command_seq),
        tcp_pose=pose_from_msg(msg.tcp_pose),
        tcp_twist=_vector_from_msgs(msg.tcp_twist.linear, msg.tcp_twist.angular),
        wrench=_vector_from_msgs(msg.external_wrench.force, msg.external_wrench.torque),
        q=np.array(msg.q, dtype=np.float64),
        dq=np.array(msg.dq, dtype=np.float64),
        tau_ext=np.array(msg.tau_ext, dtype=np.float64),
        gripper=float(msg.gripper),
        mode=ArmMode(msg.mode),
        commanded_pose=pose_from_msg(msg.commanded_pose),
        error_clipped=np.array(msg.error_clipped, dtype=bool),
        target_clipped=bool(msg.target_clipped),
        torque_saturated=bool(msg.torque_saturated),
        rejected_commands=int(msg.rejected_commands),
    )


def target_to_msg(target: ArmTarget, command_seq: int, stamp_ns: int, frame_id: str) -> ArmCommand:
    """The target as a command; `frame_id` names the arm's base frame."""
    return ArmCommand(
        header=Header(stamp=time_from_ns(stamp_ns), frame_id=frame_id),
        command_seq=command_seq,
        target=pose_to_msg(target.pose),
        gripper=0.0 if target.gripper is None else float(target.gripper),
        has_gripper=target.gripper is not None,
    )


def target_from_msg(msg: ArmCommand, frame_id: str) -> ArmTarget:
    """The target of a command; its pose is not checked, see `Pose.is_valid`.

    Raises:
      FrameError: the command is not in `frame_id`, the arm's base frame.
    """
    if msg.header.frame_id != frame_id:
        raise FrameError(
            f"command {msg.command_seq} is in frame {msg.header.frame_id!r}, expected {frame_id!r}"
        )
    gripper = float(msg.gripper) if msg.has_gripper else None
    return ArmTarget(pose_from_msg(msg.target), gripper)
