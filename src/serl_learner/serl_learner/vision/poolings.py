"""From a feature map to a vector: [B, h, w, c] -> [B, F]."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp


class Flatten(nn.Module):
    """A 1x1 convolution to few channels, then every cell of the map: F = h w channels."""

    channels: int = 16

    @nn.compact
    def __call__(self, maps: jax.Array) -> jax.Array:
        x = nn.Dense(self.channels)(maps)
        return x.reshape(x.shape[0], -1)


class SpatialLearnedEmbeddings(nn.Module):
    """Learned weighted sums over the cells, `embeddings` for each channel: F = c embeddings.

    One batched matrix product: written as broadcast and sum its gradient costs ten times as much.
    """

    embeddings: int = 8

    @nn.compact
    def __call__(self, maps: jax.Array) -> jax.Array:
        _, h, w, c = maps.shape
        init = nn.initializers.lecun_normal(in_axis=(0, 1), out_axis=3, batch_axis=2)
        kernel = self.param("kernel", init, (h, w, c, self.embeddings))
        x = jnp.einsum("bhwc,hwce->bce", maps, kernel)
        return x.reshape(x.shape[0], -1)


class SpatialSoftmax(nn.Module):
    """Where each channel is strongest, as expected coordinates in [-1, 1]: F = 2 c.

    arXiv:1504.00702, with one learned temperature.
    """

    @nn.compact
    def __call__(self, maps: jax.Array) -> jax.Array:
        _, h, w, _ = maps.shape
        temperature = self.param("temperature", nn.initializers.ones, ())
        weight = nn.softmax(maps / temperature, axis=(1, 2))
        x = jnp.einsum("bhwc,w->bc", weight, jnp.linspace(-1.0, 1.0, w))
        y = jnp.einsum("bhwc,h->bc", weight, jnp.linspace(-1.0, 1.0, h))
        return jnp.concatenate([x, y], axis=-1)


class Average(nn.Module):
    """The mean over the cells: F = c."""

    @nn.compact
    def __call__(self, maps: jax.Array) -> jax.Array:
        return maps.mean(axis=(1, 2))


POOLINGS: dict[str, type[nn.Module]] = {
    "flatten": Flatten,
    "spatial_learned_embeddings": SpatialLearnedEmbeddings,
    "spatial_softmax": SpatialSoftmax,
    "average": Average,
}
