"""What is observed of a task beside pictures, and whether it is solved."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from serl_actor.camera_views import CamerasConfig
from serl_actor.observation import (
    FINE,
    KEYS,
    OBJECT,
    ObservationScale,
    observe,
    observe_object,
)
from serl_actor.robot_client import RobotClient, StaleState
from serl_actor.task import TaskConfig
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_learner.gripper_hand import GRIPPER, observe_gripper
from serl_learner.types import ObservationSpec, spec_of


class Observer:
    """`state/*` of the arm's states, in the frame of the episode, and of the task's object."""

    def __init__(
        self, robot: RobotClient, task: TaskConfig, seen: bool, scale: ObservationScale
    ) -> None:
        """`seen`: there are cameras, so that what they show is not observed otherwise."""
        self._robot, self._task, self._seen, self._scale = robot, task, seen, scale
        self._frame = task.target
        self._object: Pose | None = None  # in the state observed last, if it solves the task

    @property
    def frame_name(self) -> str:
        """Of the frame that `state/*` is given in: start or fixture."""
        return self._task.frame if self._seen else "fixture"

    def begin(self, state: ArmState) -> None:
        """An episode begins in this state."""
        self._frame = state.tcp_pose if self.frame_name == "start" else self._task.target

    def observe(self, state: ArmState, opening: float | None) -> dict[str, np.ndarray]:
        """All `state/*` of the state that the robot returned last.

        `opening`: what the gripper is commanded; None: it is not moved.

        Raises:
          StaleState: nobody says where the object is, and it is to be observed.
        """
        observation = observe(state, self._frame, self._scale)
        if self._seen:
            del observation[FINE]
        if opening is not None:
            observation[GRIPPER] = observe_gripper(state.gripper, opening)
        if self._task.solved_by_object:
            self._object = self._robot.object()
            if not self._seen:
                observation[OBJECT] = self._observe_object(state)
        return observation

    def _observe_object(self, state: ArmState) -> np.ndarray:
        if self._object is None:
            raise StaleState(f"nobody knows what {OBJECT} is", "cameras, or somebody who knows")
        return observe_object(state.tcp_pose, self._object, self._frame, self._scale)

    def is_solved(self, state: ArmState, fixture: Pose | None) -> bool | None:
        """Whether the state observed last is what the task is about, by the poses.

        `fixture` as for TaskConfig.is_solved. None: nobody knows where the object is.
        """
        if not self._task.solved_by_object:
            return self._task.is_solved(state.tcp_pose, fixture)
        if self._object is None:
            return None
        return self._task.is_placed(self._object, state.gripper, fixture)


def observation_spec(cameras: CamerasConfig, task: TaskConfig | None = None) -> ObservationSpec:
    """Shape and dtype of every key that an environment with these cameras observes; `task`: of
    another one than PCB insertion."""
    return spec_of(observation_space(cameras, task or TaskConfig()).sample())


def observation_space(cameras: CamerasConfig, task: TaskConfig) -> gymnasium.spaces.Dict:
    """Of the observations; see `observation`."""
    vector = gymnasium.spaces.Box(-np.inf, np.inf, (6,), np.float32)
    picture = gymnasium.spaces.Box(0, 255, (cameras.image_size, cameras.image_size, 3), np.uint8)
    vectors = [key for key in KEYS if not (cameras.names and key == FINE)]
    spaces: dict[str, gymnasium.Space[Any]] = dict.fromkeys(vectors, vector)
    spaces |= dict.fromkeys(cameras.keys, picture)
    if task.moves_gripper:
        spaces[GRIPPER] = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    if task.solved_by_object and not cameras.names:
        spaces[OBJECT] = vector
    return gymnasium.spaces.Dict(spaces)
