"""What the environment asks of a robot, real or simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from serl_actor.intervention import Intervention
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose

if TYPE_CHECKING:
    from serl_actor.frames import Frame


class RobotError(RuntimeError):
    """The robot cannot go on with the episode; the arm holds.

    Attributes:
      waiting_for: what must happen before it is worth trying again, for a person.
    """

    def __init__(self, message: str, waiting_for: str = "the arm") -> None:
        super().__init__(message)
        self.waiting_for = waiting_for


class StaleState(RobotError):
    """No fresh state within the limit; the message names both."""


class ArmFault(RobotError):
    """The arm is in REFLEX or FAULT and waits for a person to recover it."""


class CommandRefused(RobotError):
    """The arm did not take a command: it said so, or more than one node commands it."""


class ResetRefused(RobotError):
    """The start pose cannot be reached; another one may be."""


class RobotClient(Protocol):
    """One arm. Calls block; a wall-clock limit turns silence into StaleState."""

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Brings the tool to `start` (T_base_tcp) and returns the first state of an episode.

        A simulator also draws what its scene randomises, from `seed`.
        """
        ...

    def step(self, target: ArmTarget) -> ArmState:
        """Sends a target and returns the state one control period later."""
        ...

    def images(self) -> Mapping[str, Frame]:
        """The pictures that belong to the state returned last, by camera; empty without cameras.

        Raises:
          StaleImage: a camera has none of now; it may again after a while of holding.
        """
        ...

    def fixture(self) -> Pose | None:
        """Where the fixture of the episode really is, T_base_fixture; None: nobody knows."""
        ...

    def object(self) -> Pose | None:
        """Where the object that the task is about is in the state returned last, T_base_object;
        None: nobody knows.

        Raises:
          StaleState: somebody does, but did not say in time.
        """
        ...

    def hold(self) -> None:
        """Leaves the arm keeping its pose."""
        ...

    def intervention(self, state: ArmState) -> Intervention | None:
        """What the operator says to `state`; None if nobody does, or not in time."""
        ...

    def close(self) -> None:
        """Lets go of the robot."""
        ...
