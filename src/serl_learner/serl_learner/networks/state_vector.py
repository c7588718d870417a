"""Which observation keys make up the state vector of the heads."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from serl_learner.types import Observation, ObservationSpec

PREFIX = "state/"


def state_size(spec: ObservationSpec) -> int:
    """Length of the state vector."""
    return sum(math.prod(shape) for key, (shape, _) in spec.items() if key.startswith(PREFIX))


def state_vector(observation: Observation) -> jax.Array:
    """All `state/*` entries [B, ...] flattened and joined, sorted by key: float32 [B, I]."""
    keys = sorted(key for key in observation if key.startswith(PREFIX))
    parts = [jnp.asarray(observation[key], jnp.float32) for key in keys]
    return jnp.concatenate([part.reshape(part.shape[0], -1) for part in parts], axis=-1)
