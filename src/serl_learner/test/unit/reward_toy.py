"""Labelled episodes of small images in which the solved ones are easily told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from image_toy import SIDE

from serl_learner.episodes import Episode, stretch
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.frames import LabelledFrame, labelled_frames
from serl_learner.types import Record, Source
from serl_learner.vision.config import EncoderConfig

SIZES = {"side": (SIDE, SIDE), "wrist": (SIDE, SIDE)}
QUICK = ClassifierConfig(
    encoder=EncoderConfig(crops=2),
    members=2,
    hidden=16,
    batch_size=24,
    updates=60,
    learning_rate=1e-2,
)


def picture(rng: np.random.Generator, label: int) -> np.ndarray:
    """Noise, and a square in a place of its own for each label, uint8 [SIDE, SIDE, 3]."""
    pixels = rng.integers(60, 120, (SIDE, SIDE, 3), dtype=np.uint8)
    pixels[8:16, 8 * label : 8 * label + 8] = 250
    return pixels


def labelled_episode(number: int, labels: list[int], stages: bool = False) -> Episode:
    """One episode whose frames have these labels."""
    rng = np.random.default_rng(number)
    records = []
    for step, label in enumerate(labels):
        last = step == len(labels) - 1
        images = {f"image/{camera}": picture(rng, label) for camera in SIZES}
        extras = {"label/success": np.bool_(label > 0)}
        if stages:
            extras["label/stage"] = np.int32(label)
        records.append(
            Record(
                session=bytes(16),
                seq=100 * number + step,
                episode=number,
                step=step,
                observation={**images, "state/a": np.zeros(2, np.float32)},
                action=None if last else np.zeros(2, np.float32),
                last=last,
                source=Source.EVAL,
                extras={name: np.asarray(value) for name, value in extras.items()},
            )
        )
    return stretch("actor", bytes(16), records)


def toy_frames(
    episodes: int = 6, labels: tuple[int, ...] = (0,) * 6 + (1,) * 2
) -> list[LabelledFrame]:
    """Frames of several episodes with two classes."""
    return [
        frame
        for number in range(episodes)
        for frame in labelled_frames(labelled_episode(number, list(labels)), "toy", SIZES)
    ]


def without_camera(episode: Episode, camera: str) -> Episode:
    """The same without one camera."""
    entries = [
        replace(r, observation={k: v for k, v in r.observation.items() if not k.endswith(camera)})
        for r in episode.records
    ]
    return replace(episode, entries=tuple(entries))
