"""The labelled frames of a directory, thinned episode by episode so that they fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from serl_franka_bringup.config import ConfigError
from serl_learner.episodes import EpisodeError
from serl_learner.rewards.frames import LabelledFrame, Sizes, labelled_frames, thin
from serl_learner.ros_log import read_episode

FRAMES_PER_EPISODE = 40
"""Of each class, at most."""


def read_frames(
    directory: Path, sizes: Sizes, classes: int = 2, limit: int = FRAMES_PER_EPISODE
) -> list[LabelledFrame]:
    """At most `limit` frames of each class of every episode in `directory`, drawn at random.

    Raises:
      BadFrames: a label or camera is missing, or an image is of another size.
      ConfigError: there is no episode, or one cannot be read.
    """
    paths = sorted(directory.glob("*.mcap"))
    if not paths:
        raise ConfigError(f"{directory} holds no episode: record some with ./serl record --rewards")
    rng = np.random.default_rng(0)
    frames: list[LabelledFrame] = []
    for path in paths:
        try:
            episode = read_episode(path)
        except EpisodeError as error:
            raise ConfigError(str(error)) from error
        found = labelled_frames(episode, str(path), sizes, classes)
        frames += thin(found, dict.fromkeys(range(classes), limit), rng)
    return frames


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
