"""Frames labelled for a task, and the sizes that they must have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from serl_franka_bringup.config import ConfigError
from serl_learner.rewards import frame_files
from serl_learner.rewards.frame_files import FRAMES_PER_EPISODE
from serl_learner.rewards.frames import LabelledFrame, Sizes
from serl_learner.ros_log import read_episode


def read_frames(
    directory: Path, sizes: Sizes, classes: int = 2, limit: int = FRAMES_PER_EPISODE
) -> list[LabelledFrame]:
    """As `frame_files.read_frames`, of the log's own files."""
    return frame_files.read_frames(directory, read_episode, sizes, classes, limit)[0]


def camera_sizes(actor: Mapping[str, object]) -> dict[str, tuple[int, int]]:
    """Height and width [pixels] of what an actor with these parameters sees, by camera.

    Raises:
      ConfigError: it sees nothing.
    """
    names, size = actor.get("cameras.names"), actor.get("cameras.image_size")
    if not names:
        raise ConfigError("the task has no cameras to learn a reward from; observation:=image?")
    assert isinstance(names, (list, tuple))
    assert isinstance(size, int)
    return {str(name): (size, size) for name in names}
