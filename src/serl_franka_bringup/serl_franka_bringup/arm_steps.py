"""What a robot reports beside its controller, and what can be done about an arm. No ROS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class RobotMode(IntEnum):
    """What the robot says of itself; the values of FrankaRobotState.robot_mode."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6


@dataclass(frozen=True)
class RobotReport:
    """What the robot says of itself, beside the controller."""

    mode: RobotMode
    errors: tuple[str, ...] = ()


class Action(Enum):
    """What can be done."""

    LOAD = "load"
    CONFIGURE = "configure"
    ACTIVATE = "activate"
    LEAVE_FAULT = "leave FAULT"
    CLEAR_ERRORS = "clear the robot's errors"
    RESTORE_HARDWARE = "activate the hardware interface"


@dataclass(frozen=True)
class Step:
    """One thing to do; `name` is that of a controller or hardware interface, if it is for one."""

    action: Action
    name: str = ""

    def __str__(self) -> str:
        return f"{self.action.value} {self.name}".rstrip()


@dataclass(frozen=True)
class SupervisionConfig:
    """What is supervised.

    Attributes:
      controller: that moves the arm.
      helpers: controllers that only tell or serve, activated before it.
      robot_reports: the robot reports its mode and errors, and clears them when told. The
        controller is activated only on a report without any.
    """

    controller: str = "cartesian_impedance_controller"
    helpers: tuple[str, ...] = ("joint_state_broadcaster",)
    robot_reports: bool = False
