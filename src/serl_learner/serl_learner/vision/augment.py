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
        start: list[Any] = [0] * (image.ndim - 3) + [offset[0], offset[1], 0]
        return lax.dynamic_slice(image, start, images.shape[1:])

    return jax.vmap(cut)(padded, offsets)


def recolour(images: jax.Array, changes: jax.Array) -> jax.Array:
    """Images uint8 [N, ..., H, W, 3] with brightness, then contrast about the frame's mean grey,
    then saturation changed by `changes` [N, 3], relative: 0 keeps them, -1 takes all away.

    All three at once, as a mixture of the colour planes: XLA on a CPU is slow where the innermost
    axis has a length of 3.
    """
    x = images.astype(jnp.float32)
    one = [1] * (images.ndim - 2)
    brightness, contrast, saturation = (1.0 + change.reshape(-1, *one) for change in changes.T)
    planes = [x[..., channel] for channel in range(3)]
    grey = sum(weight * plane for weight, plane in zip(_GREY, planes))
    mean = (x.mean(axis=(-3, -2)) @ jnp.array(_GREY))[..., None, None]
    mixed = [saturation * plane + (1.0 - saturation) * grey for plane in planes]
    changed = [brightness * (mean + contrast * (plane - mean)) for plane in mixed]
    return jnp.clip(jnp.round(jnp.stack(changed, axis=-1)), 0, 255).astype(jnp.uint8)
