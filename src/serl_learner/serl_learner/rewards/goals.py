"""What VICE begins with: features of goal frames, and a classifier that has seen labelled ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.frame_encoder import frozen_trunk
from serl_learner.rewards import vice
from serl_learner.rewards.frame_files import Read, read_frames
from serl_learner.rewards.frames import BadFrames, LabelledFrame, Sizes, check_balance, thin
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.training import encode_frames
from serl_learner.rewards.vice import Drawn, Features, Vice, ViceConfig
from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import IMAGE
from serl_learner.vision.config import EncoderConfig

GOALS = 200
"""Frames that show the task solved, at most."""
OTHERS = 1500
"""Labelled frames that do not, at most: with 600 the first classifier called a success in a quarter
of the episodes that a policy failed in at first, with these in none (docs/rewards.md)."""

Replay = Callable[[jax.Array, int, bool], tuple[Features, jax.Array]]
"""Draws, with a key, so many frames of replay on which a success was called, or so many others,
[count, h, w, c]; and says whether there is any. If there is none, it draws from all."""


@dataclass(frozen=True, eq=False)
class Goals:
    """Labelled frames, encoded.

    solved, others: `features/<camera>` of the frames' cached crops, float16 [N, K, h, w, c].
    sizes: height and width of the images [pixels], by camera.
    seed: of the first classifier.
    """

    solved: dict[str, np.ndarray]
    others: dict[str, np.ndarray]
    sizes: Sizes
    config: ViceConfig
    encoder: EncoderConfig
    seed: int = 0

    @cached_property
    def first(self) -> Vice:
        """A classifier after `first_updates` on both kinds."""
        classifier = self.config.classifier(self.encoder)
        start = vice.create_vice(jax.random.PRNGKey(self.seed), _one(self.solved), classifier)
        return _first(start, Labelled(self.solved, self.others), self.config, self.encoder)

    def model(self, state: Vice) -> RewardModel:
        """The classifier as it is now, to judge observations with."""
        return RewardModel(
            config=self.config.classifier(self.encoder),
            sizes=dict(self.sizes),
            params=jax.tree.map(lambda leaf: np.asarray(leaf)[None], state.params),
            weights_hash=frozen_trunk(self.encoder).weights_hash,
            threshold=self.config.threshold,
            frames=self.config.frames,
        )

    def check(self, spec: ObservationSpec) -> None:
        """Raises BadFrames: observations of `spec` have other cameras or image sizes."""
        seen = {k.removeprefix(IMAGE): s[:2] for k, (s, _) in spec.items() if k.startswith(IMAGE)}
        if seen != {camera: tuple(size) for camera, size in self.sizes.items()}:
            raise BadFrames(f"goal frames have cameras {dict(self.sizes)}, the observation {seen}")


def load_goals(
    directory: Path, read: Read, config: ViceConfig, encoder: EncoderConfig, seed: int
) -> Goals:
    """Of the labelled frames in a directory. Raises as `read_frames` and `encode_goals`."""
    return encode_goals(*read_frames(directory, read), config, encoder, seed)


def encode_goals(
    frames: Sequence[LabelledFrame],
    sizes: Sizes,
    config: ViceConfig,
    encoder: EncoderConfig,
    seed: int = 0,
) -> Goals:
    """Of labelled frames, as many as are used.

    Raises:
      ValueError: the encoder is trained end to end.
      BadFrames: a class has no frame.
      WeightsError: the frozen network cannot be loaded.
    """
    if not encoder.frozen:
        raise ValueError(f"vice judges what a frozen network sees, not encoder {encoder.kind!r}")
    check_balance(frames, 2, "the labelled frames")
    kept = thin(frames, {0: OTHERS, 1: GOALS}, np.random.default_rng(0))
    alone = replace(encoder, stack=1)
    solved = encode_frames([frame.record for frame in kept if frame.label == 1], alone)
    others = encode_frames([frame.record for frame in kept if frame.label == 0], alone)
    return Goals(solved, others, sizes, config, encoder, seed)


class Labelled(NamedTuple):
    """Features of labelled frames that show the task solved, and of others, [N, K, h, w, c]."""

    solved: Features
    others: Features


def train(
    state: Vice,
    labelled: Labelled,
    config: ViceConfig,
    encoder: EncoderConfig,
    updates: int,
    replay: Replay | None = None,
) -> tuple[Vice, vice.Metrics]:
    """So many updates on labelled frames and, if there is one, on replay; metrics are averaged."""
    half = config.batch_size // 2
    shares = (config.labelled, config.called) if replay else (1.0, 0.0)
    labelled_count, called_count = (round(share * half) for share in shares)

    def draw(key: jax.Array) -> Drawn:
        keys = jax.random.split(key, 4)
        solved = _draw(keys[0], half, labelled.solved)
        others = _draw(keys[1], labelled_count, labelled.others)
        if replay is None:
            return Drawn(solved, others)
        came_to, _ = replay(keys[2], half - labelled_count - called_count, False)
        others = {name: jnp.concatenate([maps, came_to[name]]) for name, maps in others.items()}
        return Drawn(solved, others, *replay(keys[3], called_count, True))

    def step(state: Vice, _: None) -> tuple[Vice, vice.Metrics]:
        key, draw_key = jax.random.split(state.key)
        drawn = draw(draw_key)
        return vice.update(state.replace(key=key), drawn, config, config.classifier(encoder))

    state, metrics = jax.lax.scan(step, state, None, length=updates)
    return state, jax.tree.map(jnp.mean, metrics)


@partial(jax.jit, static_argnames=("config", "encoder"))
def _first(start: Vice, labelled: Labelled, config: ViceConfig, encoder: EncoderConfig) -> Vice:
    return train(start, labelled, config, encoder, config.first_updates)[0]


def _draw(key: jax.Array, count: int, frames: Features) -> Features:
    """A crop of each of `count` frames [N, K, h, w, c], with replacement: [count, h, w, c]."""
    frame_key, crop_key = jax.random.split(key)
    number, crops = next(iter(frames.values())).shape[:2]
    frame = jax.random.randint(frame_key, (count,), 0, number)
    crop = jax.random.randint(crop_key, (count,), 0, crops)
    return {name: maps[frame, crop] for name, maps in frames.items()}


def _one(frames: dict[str, np.ndarray]) -> dict[str, jax.Array]:
    return {name: jnp.asarray(maps[:1, 0]) for name, maps in frames.items()}
