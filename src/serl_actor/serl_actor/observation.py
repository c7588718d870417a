"""The observation: one table of keys, units, frames and scales, and its values from a state.

| key | shape | content | scale |
|---|---|---|---|
| state/tcp_pose | 6 | tool position and rotation vector | 0.05 m, 0.35 rad |
| state/tcp_fine | 6 | the same, saturating: for the last millimetres | tanh of 3 mm, 0.05 rad |
| state/tcp_twist | 6 | tool velocity | 0.1 m/s, 0.5 rad/s |
| state/wrench | 6 | filtered external force and torque on the tool | tanh of 10 N, 0.5 N m |
| state/target_offset | 6 | filtered target of the law minus measured pose | 0.005 m, 0.05 rad |
| state/gripper | 2 | measured opening, and what is commanded: -1 closed .. +1 open | |
| state/object | 6 | from tool to object, in the tool's frame; and where the object is | 0.05 m |
| image/<camera> | S, S, 3 | what a camera sees, RGB, cropped and made small | uint8, 0 .. 255 |

`state/*` is float32, translation first, then rotation, all of it in one frame:

- without cameras the fixture's: relative to a random start the pose would say nothing about the
  socket. There are no `image/*` then.
- with cameras by the task's `frame`: `start`, the tool's pose as the episode began, so that what
  was learned does not depend on where the robot stands; or `fixture`, where the socket should be.
  There is no `state/tcp_fine` then: where the socket really is only the pictures tell.

`state/gripper` is there if the task moves the gripper, `state/object` if an object solves it and
there are no cameras, which would show it.

Vectors change frames by blockdiag(R, R): the frame does not move, so turning it is all (D1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array, Pose


@dataclass(frozen=True)
class ObservationScale:
    """What a value of 1 means in each part of the observation."""

    position: float = 0.05
    rotation: float = 0.35
    fine_position: float = 0.003
    fine_rotation: float = 0.05
    velocity: float = 0.1
    angular_velocity: float = 0.5
    force: float = 10.0
    torque: float = 0.5
    offset: float = 0.005
    offset_rotation: float = 0.05


KEYS = (
    "state/target_offset",
    "state/tcp_fine",
    "state/tcp_pose",
    "state/tcp_twist",
    "state/wrench",
)
"""Of `state/*` without cameras."""

FINE = "state/tcp_fine"
"""Not there with cameras."""

OBJECT = "state/object"
"""Without cameras, where an object solves the task."""


def observe(state: ArmState, frame: Pose, scale: ObservationScale) -> dict[str, np.ndarray]:
    """All `state/*` of a state; `frame` is T_base_frame. float32 [6] per key."""
    to_frame = frame.inverse()
    tool = to_frame @ state.tcp_pose
    pose = np.concatenate((tool.position, tool.rotation_vector))
    values = {
        "state/target_offset": _offset(to_frame @ state.commanded_pose, tool)
        / _six(scale.offset, scale.offset_rotation),
        FINE: np.tanh(pose / _six(scale.fine_position, scale.fine_rotation)),
        "state/tcp_pose": pose / _six(scale.position, scale.rotation),
        "state/tcp_twist": _turned(to_frame, state.tcp_twist)
        / _six(scale.velocity, scale.angular_velocity),
        "state/wrench": np.tanh(_turned(to_frame, state.wrench) / _six(scale.force, scale.torque)),
    }
    return {key: value.astype(np.float32) for key, value in values.items()}


def observe_object(tool: Pose, object_: Pose, frame: Pose, scale: ObservationScale) -> np.ndarray:
    """`state/object` of T_base_tcp, T_base_object and T_base_frame: float32 [6]."""
    seen = (tool.inverse() @ object_).position, (frame.inverse() @ object_).position
    return (np.concatenate(seen) / scale.position).astype(np.float32)


def _offset(commanded: Pose, tool: Pose) -> Array:
    """From the tool to the commanded pose, translation and rotation vector, in their frame."""
    turn = tool.rotate((tool.inverse() @ commanded).rotation_vector)
    return np.concatenate((commanded.position - tool.position, turn))


def _turned(transform: Pose, twist: Array) -> Array:
    """Two vectors that only turn: blockdiag(R, R), no adjoint (D1)."""
    return np.concatenate((transform.rotate(twist[:3]), transform.rotate(twist[3:])))


def _six(linear: float, angular: float) -> Array:
    return np.array((linear,) * 3 + (angular,) * 3)
