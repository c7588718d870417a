"""Bad choices of an encoder are refused with the value and the limit."""

from __future__ import annotations

import pytest

from serl_learner.vision.config import EncoderConfig


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"kind": "vgg"}, "kind 'vgg' is not one of efficientnet_lite0, resnet10, small"),
        ({"pooling": "max"}, "pooling 'max' is not one of flatten, spatial_learned_embeddings"),
        ({"latent": 0}, "latent 0 is below 1"),
        ({"proprio_latent": -1}, "proprio_latent -1 is below 0"),
        ({"stack": 0}, "stack 0 is below 1"),
        ({"crops": 0}, "crops 0 is below 1"),
        ({"pad": -1}, "pad -1 is below 0"),
        ({"colour_jitter": 1.5}, r"colour_jitter 1.5 is not in \[0, 1\]"),
        ({"colour_jitter": float("nan")}, r"colour_jitter nan is not in \[0, 1\]"),
        ({"kind": "small", "weights": "a.pkl"}, "weights 'a.pkl' are given, but encoder 'small'"),
        ({"weights_sha256": "12ab"}, "weights_sha256 '12ab' is not 64 hex digits"),
    ],
)
def test_a_bad_choice_is_named(choice, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**choice)


def test_pretrained_networks_are_frozen_and_the_small_one_is_not():
    assert EncoderConfig(kind="efficientnet_lite0").frozen
    assert EncoderConfig(kind="resnet10").frozen
    assert not EncoderConfig(kind="small").frozen
