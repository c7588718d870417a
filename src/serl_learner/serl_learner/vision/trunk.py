"""A frozen network: images in, feature maps out, nothing to train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from serl_learner.vision import efficientnet_lite0, resnet10
from serl_learner.vision.config import EncoderConfig


@dataclass(frozen=True, eq=False)
class Trunk:
    """A pretrained network up to a feature map. Its parameters are never updated or published.

    name: which network.
    weights_hash: sha256 of the file that the parameters come from, or how they were drawn.
    params: pytree of float32 arrays.
    features: pure and jittable: (params, images uint8 [N, H, W, 3] RGB) -> float32 [N, h, w, c].
    stride: pixels of the image per cell of the feature map.
    channels: c.
    """

    name: str
    weights_hash: str
    params: Any
    features: Callable[[Any, jax.Array], jax.Array]
    stride: int
    channels: int

    def feature_shape(self, height: int, width: int) -> tuple[int, int, int]:
        """(h, w, c) for images of this size [pixels]."""
        return -(-height // self.stride), -(-width // self.stride), self.channels


def load_trunk(config: EncoderConfig) -> Trunk | None:
    """The frozen network of `config`; None when the encoder is trained end to end.

    Raises:
      WeightsError: the weights are missing, are not the ones expected, or do not fit.
    """
    if not config.frozen:
        return None
    network = _NETWORKS[config.kind]
    return _trunk(config.kind, *network.load_params(config.weights, config.weights_sha256))


def random_resnet10(seed: int) -> Trunk:
    """SERL's network with random parameters: what it costs can be measured without its file."""
    return _trunk("resnet10", resnet10.random_params(seed), f"random {seed}")


_NETWORKS: dict[str, Any] = {"efficientnet_lite0": efficientnet_lite0, "resnet10": resnet10}


def _trunk(name: str, params: Any, weights_hash: str) -> Trunk:
    network = _NETWORKS[name]
    return Trunk(name, weights_hash, params, network.features, network.STRIDE, network.CHANNELS)
