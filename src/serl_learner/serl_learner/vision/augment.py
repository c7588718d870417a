"""Random shifts and colours of images, on the device (DrQ, arXiv:2004.13649).

The frames of one stack share what is drawn (D16); cameras, and an observation and the one after
it, do not: each has a draw of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from serl_learner.vision.cameras import IMAGE, cameras
from serl_learner.vision.config import EncoderConfig

_GREY = (0.299, 0.587, 0.114)  # luma of ITU-R BT.601


def augment(
    key: jax.Array, observation: Mapping[str, Any], config: EncoderConfig
) -> dict[str, Any]:
    """The observation batch with its images `image/*` uint8 [B, T, H, W, 3] shifted at random
    and, on option, in other colours. For o and o' call it with different keys.
    """
    result = dict(observation)
    names = cameras(observation)
    for name, camera_key in zip(names, jax.random.split(key, max(len(names), 1))):
        images = observation[IMAGE + name]
        crop_key, colour_key = jax.random.split(camera_key)
        count = images.shape[0]
        offsets = random_offsets(crop_key, count, config.pad)
        images = crop(images, offsets, config.pad) if config.pad else images
        if config.colour_jitter:
            changes = random_colours(colour_key, count, config.colour_jitter)
            images = recolour(images, changes)
        result[IMAGE + name] = images
    return result


def random_offsets(key: jax.Array, count: int, pad: int) -> jax.Array:
    """Rows and columns of crops, uniform over 0..2 pad: int32 [count, 2]; (pad, pad) is plain."""
    return jax.random.randint(key, (count, 2), 0, 2 * pad + 1)


def random_colours(key: jax.Array, count: int, strength: float) -> jax.Array:
    """Changes of brightness, contrast, saturation, uniform over +-strength: float32 [count, 3]."""
    return jax.random.uniform(key, (count, 3), minval=-strength, maxval=strength)


def crop(images: jax.Array, offsets: jax.Array, pad: int) -> jax.Array:
    """Images [N, ..., H, W, C], each continued by `pad` pixels of its edge and cut to its old
    size at its offset, int [N, 2] rows and columns in 0..2 pad.
    """
    around = [(pad, pad), (pad, pad), (0, 0)]
    padded = jnp.pad(images, [(0, 0)] * (images.ndim - 3) + around, mode="edge")

    def cut(image: jax.Array, offset: jax.Array) -> jax.Array:
        start = [0] * (image.ndim - 3) + [offset[0], offset[1], 0]
        return lax.dynamic_slice(image, start, images.shape[1:])

    return jax.vmap(cut)(padded, offsets)


def recolour(images: jax.Array, changes: jax.Array) -> jax.Array:
    """Images uint8 [N, ..., H, W, 3] with brightness, contrast and saturation changed by
    `changes` [N, 3], relative: 0 leaves them as they are, -1 takes all away.
    """
    factors = 1.0 + changes.reshape(-1, 3, *[1] * (images.ndim - 1))
    x = images.astype(jnp.float32) * factors[:, 0]
    mean = _grey(x).mean(axis=(-3, -2), keepdims=True)
    x = mean + (x - mean) * factors[:, 1]
    grey = _grey(x)
    x = grey + (x - grey) * factors[:, 2]
    return jnp.clip(jnp.round(x), 0, 255).astype(jnp.uint8)


def _grey(x: jax.Array) -> jax.Array:
    return (x * jnp.array(_GREY)).sum(axis=-1, keepdims=True)
