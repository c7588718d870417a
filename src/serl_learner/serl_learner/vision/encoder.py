"""The vector that actor and critics see: one code per camera, joined with the state vector."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from serl_learner.networks.state_vector import PREFIX, state_vector
from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import FEATURES, IMAGE, cameras
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.film import FiLM
from serl_learner.vision.poolings import POOLINGS
from serl_learner.vision.small_cnn import SmallCNN
from serl_learner.vision.trunk import Trunk


class ObservationEncoder(nn.Module):
    """Observation batch -> float32 [B, I]: the codes of the cameras by name, then the state.

    Takes `state/*` [B, ...] and, for each camera, `features/<camera>` [B, T, h, w, c] when the
    network is frozen or `image/<camera>` uint8 [B, T, H, W, 3] when it is trained. Every camera
    has parameters of its own. Without cameras it is the state vector and has no parameters.
    """

    config: EncoderConfig

    @nn.compact
    def __call__(self, observation: Any) -> jax.Array:
        prefix = input_prefix(self.config)
        state = state_vector(observation) if _has_state(observation) else None
        names = cameras(observation, prefix)
        if not names:
            if state is None:
                raise ValueError(f"no {PREFIX}* and no {prefix}* in {sorted(observation)}")
            return state
        codes = [
            CameraEncoder(self.config, name=f"camera_{name}")(observation[prefix + name], state)
            for name in names
        ]
        if state is not None and self.config.proprio_latent:
            state = Code(self.config.proprio_latent, name="proprio")(state)
        return jnp.concatenate(codes if state is None else [*codes, state], axis=-1)


class CameraEncoder(nn.Module):
    """One camera's frames or feature maps [B, T, ...], state [B, I] or None -> code [B, latent].

    The frames of a stack are joined along the channels.
    """

    config: EncoderConfig

    @nn.compact
    def __call__(self, frames: jax.Array, state: jax.Array | None) -> jax.Array:
        config = self.config
        if frames.ndim != 5 or frames.shape[1] != config.stack:
            raise ValueError(f"frames {frames.shape} are not [B, {config.stack}, h, w, c]")
        maps = _stack_to_channels(jnp.zeros_like(frames) if config.blank else frames)
        maps = maps.astype(jnp.float32) if config.frozen else SmallCNN()(maps)
        if config.film:
            if state is None:
                raise ValueError(f"film needs {PREFIX}* in the observation")
            maps = FiLM()(maps, state)
        return Code(config.latent)(POOLINGS[config.pooling]()(maps))


class Code(nn.Module):
    """Dense, LayerNorm, tanh: [B, I] -> [B, width] in (-1, 1)."""

    width: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.tanh(nn.LayerNorm()(nn.Dense(self.width)(x)))


def input_prefix(config: EncoderConfig) -> str:
    """Prefix of the keys that the encoder reads beside `state/*`."""
    return FEATURES if config.frozen else IMAGE


def encoder_input_spec(
    spec: ObservationSpec, config: EncoderConfig, trunk: Trunk | None
) -> ObservationSpec:
    """Shape and dtype, without the batch axis, of what the encoder takes for observations of
    `spec`: each image [H, W, 3] becomes T frames of it, or of their feature maps.

    Raises:
      ValueError: an image is not uint8 [H, W, 3].
    """
    inputs = {key: value for key, value in spec.items() if not key.startswith(IMAGE)}
    for name in cameras(spec):
        shape, dtype = spec[IMAGE + name]
        if len(shape) != 3 or shape[-1] != 3 or dtype != "uint8":
            raise ValueError(f"{IMAGE}{name} is {dtype} {list(shape)}, not uint8 [H, W, 3]")
        if trunk is None:
            inputs[IMAGE + name] = ((config.stack, *shape), dtype)
        else:
            maps = trunk.feature_shape(*shape[:2])
            inputs[FEATURES + name] = ((config.stack, *maps), "float32")
    return inputs


def _has_state(observation: Any) -> bool:
    return any(key.startswith(PREFIX) for key in observation)


def _stack_to_channels(frames: jax.Array) -> jax.Array:
    """[B, T, h, w, c] -> [B, h, w, T c]."""
    batch, stack, h, w, c = frames.shape
    return jnp.moveaxis(frames, 1, 3).reshape(batch, h, w, stack * c)
