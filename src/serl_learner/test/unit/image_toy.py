"""Small images, a frozen network that takes no time, and records that the tests share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, record

from serl_learner.agents.config import SACConfig
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.types import ObservationSpec, Record
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.trunk import Trunk

SIDE = 32
CAMERAS = ("side", "wrist")
IMAGE_SPEC: ObservationSpec = {
    **{f"image/{camera}": ((SIDE, SIDE, 3), "uint8") for camera in CAMERAS},
    "state/a": ((2,), "float32"),
    "state/b": ((1,), "float32"),
}
FROZEN = EncoderConfig(latent=4, pooling="average", crops=3)
TRAINED = EncoderConfig(kind="small", latent=4, pooling="average")
ENCODERS = {"frozen": FROZEN, "trained": TRAINED}


def trained_is_slow(names: Iterable[str]) -> list[Any]:
    """The same parameters of a test, of which "trained" compiles for long: other tests train it."""
    return [pytest.param(n, marks=pytest.mark.slow if n == "trained" else ()) for n in names]


def agent_config(encoder: EncoderConfig, **fields: Any) -> SACConfig:
    """A small agent with this encoder."""
    return replace(SMALL, encoder=encoder, **fields)


def tiny_trunk() -> Trunk:
    """Means over cells of 8 pixels, times a parameter."""

    def features(params: Any, images: jax.Array) -> jax.Array:
        n, h, w, c = images.shape
        cells = images.astype(jnp.float32).reshape(n, h // 8, 8, w // 8, 8, c)
        return cells.mean(axis=(2, 4)) * params["scale"] / 255.0

    return Trunk("tiny", "0" * 64, {"scale": jnp.float32(2.0)}, features, 8, 3)


def image(number: int) -> np.ndarray:
    """Uint8 [SIDE, SIDE, 3], another for every number."""
    return np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)


def image_record(step: int, *, value: float | None = None, **fields: Any) -> Record:
    """A record as `record` makes, with images of its own."""
    made = record(step, value=value, **fields)
    number = int(made.seq if value is None else value)
    images = {f"image/{camera}": image(2 * number + i) for i, camera in enumerate(CAMERAS)}
    return replace(made, observation={**images, **made.observation})


def image_learner(encoder: EncoderConfig, seed: int = 0, **config: Any) -> Learner:
    """A learner of small networks and small replay; convolutions are slow as tests compile them."""
    few = {"batch_size": 8, "utd_ratio": 2} if encoder.frozen else {"batch_size": 2, "utd_ratio": 1}
    defaults = {"training_starts": 4, **few}
    sizes = {"replay_bytes": 2**18, "prior_bytes": 2**18}
    made = LearnerConfig(agent=agent_config(encoder), **(defaults | sizes | config))
    return Learner(made, IMAGE_SPEC, ACTION_DIM, seed)


def image_batch(encoder: EncoderConfig, size: int = 6, seed: int = 0) -> dict[str, Any]:
    """Random transitions as the update sees them; every other one is terminal."""
    rng = np.random.default_rng(seed)

    def observation() -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = {"state/a": rng.normal(size=(size, 2)).astype(np.float32)}
        for camera in CAMERAS:
            if encoder.frozen:
                maps = rng.normal(size=(size, encoder.stack, 4, 4, 3)).astype(np.float16)
                made[f"features/{camera}"] = maps
            else:
                shape = (size, encoder.stack, SIDE, SIDE, 3)
                made[f"image/{camera}"] = rng.integers(0, 256, shape, dtype=np.uint8)
        return made

    return {
        "observation": observation(),
        "next_observation": observation(),
        "action": rng.uniform(-1, 1, (size, ACTION_DIM)).astype(np.float32),
        "reward": rng.uniform(0, 1, size).astype(np.float32),
        "terminated": np.arange(size) % 2 == 0,
    }
