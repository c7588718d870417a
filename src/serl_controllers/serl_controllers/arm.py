"""What an arm says and what it is told, as plain values; real and simulated arms alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from serl_controllers.geometry import Pose

Array = NDArray[np.float64]


class ArmMode(IntEnum):
    """What drives the arm; the values of RobotState.mode."""

    IDLE = 0
    IMPEDANCE = 1
    HOLD = 2
    JOINT_MOVE = 3
    REFLEX = 4
    FAULT = 5


@dataclass(frozen=True, eq=False)
class ArmState:
    """State of the arm, sampled at one instant; vectors and poses in the base frame.

    Attributes:
      stamp_ns: when it was sampled [ns].
      command_seq: the last command carried out; 0 before the first.
      tcp_pose: measured pose of the tool centre point, T_base_tcp.
      tcp_twist: measured [6] [m/s, rad/s].
      wrench: external, on the tool at the tcp, low-pass filtered, [6] [N, N m].
      q: [7] [rad].
      dq: [7] [rad/s].
      tau_ext: estimated external joint torque [7] [N m].
      gripper: measured opening, 0 closed .. 1 open.
      mode: what drives the arm.
      commanded_pose: the filtered target that the law pulls towards, T_base_tcp.
      error_clipped: per axis (translation, rotation) [6] bool: the pose error was clipped.
      target_clipped: the workspace box moved the target.
      torque_saturated: a torque or torque-rate limit was active.
      rejected_commands: commands refused so far.
    """

    stamp_ns: int
    command_seq: int
    tcp_pose: Pose
    tcp_twist: Array
    wrench: Array
    q: Array
    dq: Array
    tau_ext: Array
    gripper: float
    mode: ArmMode
    commanded_pose: Pose
    error_clipped: NDArray[np.bool_]
    target_clipped: bool
    torque_saturated: bool
    rejected_commands: int

    @property
    def stamp(self) -> float:
        """When it was sampled [s]."""
        return self.stamp_ns * 1e-9


@dataclass(frozen=True, eq=False)
class ArmTarget:
    """Where the tool shall go.

    Attributes:
      pose: of the tool centre point, T_base_tcp.
      gripper: opening, 0 closed .. 1 open; None leaves it as it is.
    """

    pose: Pose
    gripper: float | None = None
