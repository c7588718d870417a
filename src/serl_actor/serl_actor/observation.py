"""The observation: one table of keys, units, frames and scales, and its values from a state.

| key | shape | content | scale |
|---|---|---|---|
| state/tcp_pose | 6 | tool position and rotation vector | 0.05 m, 0.35 rad |
| state/tcp_fine | 6 | the same, saturating: for the last millimetres | tanh of 3 mm, 0.05 rad |
| state/tcp_twist | 6 | tool velocity | 0.1 m/s, 0.5 rad/s |
| state/wrench | 6 | filtered external force and torque on the tool | tanh of 10 N, 0.5 N m |
| state/target_offset | 6 | filtered target of the law minus measured pose | 0.005 m, 0.05 rad |

Everything is in the fixture's frame; translation first, then rotation.

All float32. Without cameras the pose is given in the fixture's frame: relative to a random start
it would say nothing about the socket.
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


def observe(state: ArmState, fixture: Pose, scale: ObservationScale) -> dict[str, np.ndarray]:
    """Observation of a state; `fixture` is T_base_fixture. float32 [6] per key."""
    to_fixture = fixture.inverse()
    tool = to_fixture @ state.tcp_pose
    pose = np.concatenate((tool.position, tool.rotation_vector))
    values = {
        "state/target_offset": _offset(to_fixture @ state.commanded_pose, tool)
        / _six(scale.offset, scale.offset_rotation),
        "state/tcp_fine": np.tanh(pose / _six(scale.fine_position, scale.fine_rotation)),
        "state/tcp_pose": pose / _six(scale.position, scale.rotation),
        "state/tcp_twist": _turned(to_fixture, state.tcp_twist)
        / _six(scale.velocity, scale.angular_velocity),
        "state/wrench": np.tanh(
            _turned(to_fixture, state.wrench) / _six(scale.force, scale.torque)
        ),
    }
    return {key: value.astype(np.float32) for key, value in values.items()}


def _offset(commanded: Pose, tool: Pose) -> Array:
    """From the tool to the commanded pose, translation and rotation vector, fixture frame."""
    turn = tool.rotate((tool.inverse() @ commanded).rotation_vector)
    return np.concatenate((commanded.position - tool.position, turn))


def _turned(transform: Pose, twist: Array) -> Array:
    return np.concatenate((transform.rotate(twist[:3]), transform.rotate(twist[3:])))


def _six(linear: float, angular: float) -> Array:
    return np.array((linear,) * 3 + (angular,) * 3)
