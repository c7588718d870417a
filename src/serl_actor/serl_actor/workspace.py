"""The box that targets stay in: translation along the base's axes, rotation in SO(3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serl_actor.task import TaskConfig
from serl_controllers.geometry import Array, Pose


@dataclass(frozen=True, eq=False)
class Workspace:
    """Offsets allowed from a reference pose.

    Attributes:
      reference: T_base_reference.
      lower: least offset [6]: base-frame translation [m], rotation vector about the reference
        [rad]. A rotation vector has no seam at +-pi roll, unlike Euler angles (D15).
      upper: largest offset [6].
    """

    reference: Pose
    lower: Array
    upper: Array

    @classmethod
    def of(cls, task: TaskConfig) -> Workspace:
        """The box of a task, about its target."""
        return cls(task.target, np.array(task.box_lower), np.array(task.box_upper))

    def clip(self, pose: Pose) -> Pose:
        """The pose itself if it is inside, else with each offset moved to its limit."""
        translation = pose.position - self.reference.position
        turn = (self.reference.inverse() @ pose).rotation_vector
        offset = np.concatenate((translation, turn))
        clipped = np.clip(offset, self.lower, self.upper)
        if np.array_equal(offset, clipped):
            return pose
        position = self.reference.position + clipped[:3]
        return Pose(
            position,
            (self.reference @ Pose.from_rotation_vector(np.zeros(3), clipped[3:])).quaternion,
        )
