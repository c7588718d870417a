"""The frozen network that a configuration names."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.trunk import load_trunk, random_resnet10
from serl_learner.vision.weights import WeightsError


def test_the_default_is_efficientnet_at_stride_16():
    trunk = load_trunk(EncoderConfig())
    assert trunk.name == "efficientnet_lite0"
    assert trunk.weights_hash.startswith("57934424")
    assert trunk.feature_shape(128, 128) == (8, 8, 112)
    for height, width in ((128, 128), (75, 90)):
        images = jax.ShapeDtypeStruct((2, height, width, 3), jnp.uint8)
        features = jax.eval_shape(trunk.features, trunk.params, images)
        assert features.shape == (2, *trunk.feature_shape(height, width))
        assert features.dtype == jnp.float32


def test_an_encoder_trained_end_to_end_has_none():
    assert load_trunk(EncoderConfig(kind="small")) is None


def test_resnet10_needs_its_file():
    with pytest.raises(WeightsError, match="needs SERL's weights"):
        load_trunk(EncoderConfig(kind="resnet10"))


def test_a_random_resnet10_is_another_network_for_another_seed():
    one, other = random_resnet10(0), random_resnet10(1)
    assert one.name == "resnet10"
    assert one.feature_shape(128, 128) == (4, 4, 512)
    assert one.weights_hash != other.weights_hash
    kernels = [trunk.params["conv_init"]["kernel"] for trunk in (one, other)]
    assert (kernels[0] != kernels[1]).any()
