"""Feature maps modulated by a vector (FiLM, arXiv:1709.07871)."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp


class FiLM(nn.Module):
    """maps (1 + scale) + shift, per channel; both are linear in `condition` and start at zero.

    ([B, h, w, c], [B, I]) -> [B, h, w, c].
    """

    @nn.compact
    def __call__(self, maps: jax.Array, condition: jax.Array) -> jax.Array:
        init = nn.initializers.zeros
        both = nn.Dense(2 * maps.shape[-1], kernel_init=init, bias_init=init)(condition)
        scale, shift = jnp.split(both[:, None, None, :], 2, axis=-1)
        return maps * (1.0 + scale) + shift
