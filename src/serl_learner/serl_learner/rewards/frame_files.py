"""The labelled frames of a directory, thinned episode by episode so that they fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from serl_learner.episodes import Episode, EpisodeError
from serl_learner.rewards.frames import BadFrames, LabelledFrame, Sizes, labelled_frames, thin
from serl_learner.vision.cameras import IMAGE, cameras

FRAMES_PER_EPISODE = 40
"""Of each class, at most."""

Read = Callable[[Path], Episode]
"""Reads an episode's file; raises EpisodeError."""


def read_frames(
    directory: Path,
    read: Read,
    sizes: Sizes | None = None,
    classes: int = 2,
    limit: int = FRAMES_PER_EPISODE,
) -> tuple[list[LabelledFrame], Sizes]:
    """At most `limit` frames of each class of every episode in `directory`, drawn at random, and
    the sizes of their images; without `sizes` those of the first.

    Raises:
      BadFrames: there is no episode, or one cannot be read, a label or camera is missing, or an
        image is of another size.
    """
    paths = sorted(directory.glob("*.mcap"))
    if not paths:
        raise BadFrames(f"{directory} holds no episode: record some with ./serl record --rewards")
    rng = np.random.default_rng(0)
    frames: list[LabelledFrame] = []
    for path in paths:
        try:
            episode = read(path)
        except EpisodeError as error:
            raise BadFrames(str(error)) from error
        sizes = sizes or _sizes(episode)
        found = labelled_frames(episode, str(path), sizes, classes)
        frames += thin(found, dict.fromkeys(range(classes), limit), rng)
    return frames, sizes or {}


def _sizes(episode: Episode) -> Sizes:
    seen = episode.records[0].observation if episode.records else {}
    return {camera: seen[IMAGE + camera].shape[:2] for camera in cameras(seen)}
