"""Chance that gets about: from one pose of the task's box to another."""

from __future__ import annotations

import numpy as np

from serl_actor.rollout import Choice
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_learner.types import Observation, Source

STEPS = 6
"""Towards one pose, whether it is reached or something is in the way."""


class WanderingDriver:
    """Goes to poses drawn from the box that targets stay in, most of them low and not far from the
    target, where things are in the way. Uniformly random actions hardly leave where they begin; a
    policy that learns gets everywhere, pressed down beside the place above all."""

    def __init__(self, task: TaskConfig, seed: int) -> None:
        self._task = task
        self._box = Workspace.of(task)
        self._rng = np.random.default_rng(seed)
        self._left = 0

    def begin(self) -> None:
        """The first pose is drawn anew."""
        self._left = 0

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """Straight towards the pose, as fast as is allowed; a gripper does anything."""
        if self._left == 0:
            self._goal, self._left = self._draw(), STEPS
        self._left -= 1
        step, task = state.tcp_pose.inverse() @ self._goal, self._task
        action = self._rng.uniform(-1.0, 1.0, task.action_dim)
        action[:3] = step.position / task.translation_scale
        action[3:6] = step.rotation_vector / task.rotation_scale
        return Choice(np.clip(action, -1.0, 1.0), Source.RANDOM)

    def _draw(self) -> Pose:
        share = self._rng.uniform(0.0, 1.0, (2, 6)).mean(axis=0)  # most in the middle
        share[2] = self._rng.uniform() ** 3  # the base's z axis points up
        offset = self._box.lower + share * (self._box.upper - self._box.lower)
        turned = self._box.reference @ Pose.from_rotation_vector(np.zeros(3), offset[3:])
        return Pose(self._box.reference.position + offset[:3], turned.quaternion)
