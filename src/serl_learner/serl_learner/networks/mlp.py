"""The multi-layer perceptron that every head is made of."""

from __future__ import annotations

from collections.abc import Sequence

import flax.linen as nn
import jax

ACTIVATIONS = {"tanh": nn.tanh, "relu": nn.relu, "swish": nn.swish}


class MLP(nn.Module):
    """Dense -> LayerNorm -> activation, for every width in `hidden`.

    [B, I] -> [B, hidden[-1]].
    """

    hidden: Sequence[int]
    activation: str = "tanh"
    layer_norm: bool = True

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for width in self.hidden:
            x = nn.Dense(width, kernel_init=nn.initializers.xavier_uniform())(x)
            if self.layer_norm:
                x = nn.LayerNorm()(x)
            x = ACTIVATIONS[self.activation](x)
        return x
