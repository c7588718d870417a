"""SERL's frozen ResNet-10 up to its last feature map: [h/32, w/32, 512].

SERL's `resnetv1-10-frozen` with `pre_pooling`: one block per stage, GroupNorm of 4 groups, ReLU.
Its weights are not part of any package: they are the file that SERL publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from serl_learner.vision.restricted_pickle import load_arrays
from serl_learner.vision.weights import WeightsError, read_checked, take

STRIDE = 32
CHANNELS = 512
SOURCE = "https://github.com/rail-berkeley/serl/releases/download/resnet10/resnet10_params.pkl"
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Of ImageNet, pixels in [0, 1]."""


class MyGroupNorm(nn.GroupNorm):
    """GroupNorm under the name that it has in SERL's file."""

    num_groups: int = 4
    epsilon: float = 1e-5


class ResNetBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut, projected where the shape changes.

    float32 [N, H, W, c] -> [N, H/stride, W/stride, filters].
    """

    filters: int
    stride: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        strides = (self.stride, self.stride)
        y = nn.Conv(self.filters, (3, 3), strides, use_bias=False)(x)
        y = nn.relu(MyGroupNorm()(y))
        y = MyGroupNorm()(nn.Conv(self.filters, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = nn.Conv(self.filters, (1, 1), strides, use_bias=False, name="conv_proj")(x)
            x = MyGroupNorm(name="norm_proj")(x)
        return nn.relu(x + y)


class ResNet10(nn.Module):
    """uint8 [N, H, W, 3] RGB -> float32 [N, H/32, W/32, 512], rounded up."""

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = (images.astype(jnp.float32) / 255.0 - jnp.array(MEAN)) / jnp.array(DEVIATION)
        padding = ((3, 3), (3, 3))
        x = nn.Conv(64, (7, 7), (2, 2), padding, use_bias=False, name="conv_init")(x)
        x = nn.relu(MyGroupNorm(name="norm_init")(x))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for stage in range(4):
            x = ResNetBlock(64 * 2**stage, stride=1 if stage == 0 else 2)(x)
        return x


def features(params: Any, images: jax.Array) -> jax.Array:
    """Images uint8 [N, H, W, 3] RGB -> float32 [N, H/32, W/32, 512], rounded up."""
    return ResNet10().apply({"params": params}, images)


def random_params(seed: int) -> Any:
    """Parameters that have learned nothing: they cost what the real ones do."""
    return _init(jax.random.PRNGKey(seed))


@jax.jit
def _init(key: jax.Array) -> Any:
    return ResNet10().init(key, jnp.zeros((1, 32, 32, 3), jnp.uint8))["params"]


def load_params(path: str = "", sha256: str = "") -> tuple[Any, str]:
    """Parameters in SERL's file and the file's hash.

    Raises:
      WeightsError: no file is given, it is not the expected one, or it does not fit.
    """
    if not path:
        raise WeightsError(
            "the encoder resnet10 needs SERL's weights, which no package has: download"
            f" {SOURCE} and set `weights` to the path of the file"
        )
    content, found = read_checked(Path(path).expanduser(), sha256)
    return fit(load_arrays(content)), found


def fit(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the tree that is the network, as float32; more may be in it.

    Raises:
      WeightsError: an array is missing, has another shape, or is not finite.
    """
    shapes = jax.eval_shape(_init, jax.random.PRNGKey(0))
    found = {_key(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: take(found, _key(path), leaf.shape), shapes
    )


def _key(path: tuple[Any, ...]) -> str:
    return "/".join(str(part.key) for part in path)
