"""A task as the actor sees it: where, within which limits, and when it is solved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from serl_controllers.geometry import Pose

Six = tuple[float, float, float, float, float, float]

FRAMES = ("start", "fixture")

GRIPPERS = ("fixed", "binary", "learned")

SOLVED_BY = ("tool", "object")


@dataclass(frozen=True)
class TaskConfig:
    """Figures of one task; the defaults are PCB insertion.

    Attributes:
      target_position: tcp of the solved task, base frame [m]. The fixture frame is the tcp's
        there.
      target_rpy: its roll, pitch, yaw about the fixed axes of the base [rad].
      start_height: nominal start above the target, along the base's z [m].
      random_xy: start drawn within +- this, fixture x and y [m].
      random_yaw: start turned within +- this about the fixture's z [rad].
      box_lower: least offset of a target pose from the task's target: translation along the
        axes of the base [m], rotation vector about the target [rad].
      box_upper: largest offset.
      threshold: success when |tcp - target| is below it on every axis: position in the fixture
        frame [m], rotation vector [rad].
      translation_scale: of an action of 1 [m].
      rotation_scale: of an action of 1 [rad].
      episode_steps: time limit.
      control_period: [s].
      frame: of the observed pose with cameras: `start`, the tool's pose as the episode began, or
        `fixture`, the target; without cameras it is always the latter.
      gripper: `fixed`, nobody moves it; `binary`, a seventh dimension of the action does: below
        -0.5 closes, above +0.5 opens; or `learned`, as that, chosen by a grasp critic.
      solved_by: whose pose `threshold` is about: the `tool`'s, or an `object`'s that the gripper
        has let go.
      released: measured opening above which it has, 0 closed .. 1 open.
    """

    target_position: tuple[float, float, float] = (0.5669, 0.0021, 0.0536)
    target_rpy: tuple[float, float, float] = (3.1280, 0.0177, 0.0213)
    start_height: float = 0.04
    random_xy: float = 0.05
    random_yaw: float = math.radians(20.0)
    box_lower: Six = (-0.05, -0.05, -0.005, -0.05, -0.05, -math.radians(20.0))
    box_upper: Six = (0.05, 0.05, 0.05, 0.05, 0.05, math.radians(20.0))
    threshold: Six = (0.003, 0.003, 0.001, 0.1, 0.1, 0.1)
    translation_scale: float = 0.01
    rotation_scale: float = 0.06
    episode_steps: int = 100
    control_period: float = 0.1
    frame: str = "start"
    gripper: str = "fixed"
    solved_by: str = "tool"
    released: float = 0.6

    def __post_init__(self) -> None:
        for name in ("translation_scale", "rotation_scale", "control_period", "episode_steps"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0")
        for low, high in zip(self.box_lower, self.box_upper, strict=True):
            if not low <= 0.0 <= high:
                raise ValueError(f"box {self.box_lower} .. {self.box_upper} must hold the target")
        for name, known in (("frame", FRAMES), ("gripper", GRIPPERS), ("solved_by", SOLVED_BY)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name} is '{value}', expected {' or '.join(known)}")
        if not 0.0 <= self.released < 1.0:
            raise ValueError(f"released is {self.released}, expected 0 .. 1, without 1")
        if min(self.threshold) <= 0.0:
            raise ValueError(f"threshold is {self.threshold}, expected more than 0")

    @property
    def target(self) -> Pose:
        """The tcp of the solved task: T_base_fixture."""
        return Pose.from_rpy(self.target_position, self.target_rpy)

    @property
    def moves_gripper(self) -> bool:
        """The last dimension of an action is the gripper's."""
        return self.gripper != "fixed"

    @property
    def action_dim(self) -> int:
        """Dimensions of an action: translation, rotation and, if it is moved, the gripper."""
        return 7 if self.moves_gripper else 6

    @property
    def solved_by_object(self) -> bool:
        """The task is to bring an object somewhere, not the tool."""
        return self.solved_by == "object"

    def draw_start(self, rng: np.random.Generator) -> Pose:
        """A random start, T_base_tcp: above the target, moved and turned over the board."""
        x, y = rng.uniform(-self.random_xy, self.random_xy, size=2)
        yaw = rng.uniform(-self.random_yaw, self.random_yaw)
        lifted = Pose(
            self.target.position + np.array((0.0, 0.0, self.start_height)), self.target.quaternion
        )
        return lifted @ Pose.from_rotation_vector((x, y, 0.0), (0.0, 0.0, yaw))

    def is_placed(self, pose: Pose, opening: float, fixture: Pose | None = None) -> bool:
        """Whether an object at `pose`, T_base_object, is at the target and was let go: `opening`
        is the gripper's, measured. `fixture` as for `is_solved`."""
        return opening > self.released and self.is_solved(pose, fixture)

    def is_solved(self, pose: Pose, fixture: Pose | None = None) -> bool:
        """Whether the tool is at the target, in SO(3): no Euler angles are compared (D15).

        `fixture`: where it really is, T_base_fixture; None: where it should be.
        """
        error = (fixture or self.target).inverse() @ pose
        distance = np.abs(np.concatenate((error.position, error.rotation_vector)))
        return bool(np.all(distance < np.array(self.threshold)))
