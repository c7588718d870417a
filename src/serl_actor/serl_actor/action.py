"""Actions: a translation and a rotation vector in the current tcp frame, scaled to [-1, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serl_actor.workspace import Workspace
from serl_controllers.geometry import Array, Pose


@dataclass(frozen=True)
class ActionScale:
    """What an action of 1 means: translation [m] and rotation [rad] per control step."""

    translation: float
    rotation: float

    def target(self, measured: Pose, action: Array) -> Pose:
        """The target pose of an action [6], about the measured T_base_tcp."""
        return measured @ Pose.from_rotation_vector(
            self.translation * action[:3], self.rotation * action[3:]
        )

    def action(self, measured: Pose, target: Pose) -> Array:
        """The action [6] whose target this is; inverse of `target`, not clipped."""
        step = measured.inverse() @ target
        return np.concatenate(
            (step.position / self.translation, step.rotation_vector / self.rotation)
        )

    def taken_over(self, action: Array, measured: Pose, commanded: Pose) -> Array:
        """The action [6] about the measured pose whose target is that of `action` about the
        commanded one: who takes over begins where the arm is pulled to, not where it is.
        """
        return self.action(measured, self.target(commanded, action))


def executable(
    action: Array, measured: Pose, scale: ActionScale, workspace: Workspace
) -> tuple[Pose, Array]:
    """Clips an action to [-1, 1] and its target to the workspace.

    Returns:
      The target pose to command and the action [6] in [-1, 1] that it amounts to. The two agree
      unless the arm is so far outside the workspace that the way back exceeds an action of 1;
      then the target is that of the clipped action: a step towards the box (D26).
    """
    clipped = np.clip(action, -1.0, 1.0)
    wanted = scale.target(measured, clipped)
    target = workspace.clip(wanted)
    if target is wanted:
        return wanted, clipped
    executed = scale.action(measured, target)
    if np.abs(executed).max() <= 1.0:
        return target, executed
    executed = np.clip(executed, -1.0, 1.0)
    return scale.target(measured, executed), executed
