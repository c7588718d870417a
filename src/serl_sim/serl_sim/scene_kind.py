"""What one kind of scene adds to the arm: what it holds, what stands before it, what is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import mujoco

from serl_controllers.geometry import Pose

Vector3 = tuple[float, float, float]


class View(NamedTuple):
    """A camera that stands still: where, what is in its middle [m], and its angle of view [deg]."""

    eye: Vector3
    centre: Vector3
    fovy: float


@dataclass(frozen=True)
class Arrangement:
    """Where things are when an episode begins.

    Attributes:
      fixture: T_base_fixture, the tcp's with the task done.
      in_hand: T_tcp_plug of what the hand holds.
      object: T_base_object of what lies before the arm; None: nothing does.
    """

    fixture: Pose
    in_hand: Pose = field(default_factory=Pose.identity)
    object: Pose | None = None


class SceneKind(Protocol):
    """One kind of scene. It keeps nothing of an episode: that is in the Arrangement and in data."""

    name: str
    """Of the model."""
    part: str
    """What is to be put in place."""
    place: str
    """Where."""
    intruder: str
    """What a start pose may have in the way of something, and of what: `{}` is how deep."""

    def add_hand(self, spec: mujoco.MjSpec) -> None:
        """The hand, with the site of the tcp and the camera at the wrist."""
        ...

    def add_table(self, world: mujoco.MjsBody) -> None:
        """What all the rest stands on."""
        ...

    def add_fixture(self, spec: mujoco.MjSpec) -> None:
        """What is before the arm."""
        ...

    def views(self) -> Mapping[str, View]:
        """Cameras that stand still, by name."""
        ...

    def draw(self, seed: int | None) -> Arrangement:
        """How an episode begins; None: as configured, nothing is drawn."""
        ...

    def arrange(self, model: mujoco.MjModel, arrangement: Arrangement) -> None:
        """Puts into the model what moves with no joint."""
        ...

    def rest(self, data: mujoco.MjData, arrangement: Arrangement) -> None:
        """Sets the joints beyond the arm's, and their controls; the rest of `data` is as reset."""
        ...

    def command(self, data: mujoco.MjData, opening: float) -> None:
        """What the gripper shall do, 0 closed .. 1 open."""
        ...

    def opening(self, data: mujoco.MjData) -> float:
        """Of the gripper, 0 closed .. 1 open."""
        ...

    def object(self, data: mujoco.MjData) -> Pose | None:
        """T_base_object now; None: there is none."""
        ...

    def part_pose(self, data: mujoco.MjData, tool: Pose, arrangement: Arrangement) -> Pose:
        """T_base_part now, with the tcp at `tool`; the fixture's pose when it is in place."""
        ...
