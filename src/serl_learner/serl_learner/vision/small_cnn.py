"""The small convolutional network that is trained end to end."""

from __future__ import annotations

from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp


class SmallCNN(nn.Module):
    """3x3 convolutions of stride 2 with ReLU: uint8 [B, H, W, C] -> float32 [B, h, w, widths[-1]].

    128 pixels become 7 cells. Pixels are scaled to [0, 1].
    """

    widths: Sequence[int] = (32, 64, 128, 256)

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = images.astype(jnp.float32) / 255.0
        for width in self.widths:
            x = nn.relu(nn.Conv(width, (3, 3), strides=(2, 2), padding="VALID")(x))
        return x
