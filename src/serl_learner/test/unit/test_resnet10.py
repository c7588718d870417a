"""SERL's ResNet-10: its size, its layers by an independent computation, and its weights file."""

from __future__ import annotations

import pickle
from pathlib import Path

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate

from serl_learner.vision import resnet10
from serl_learner.vision.weights import WeightsError


@pytest.fixture(scope="module")
def params():
    return jax.tree.map(np.asarray, resnet10.random_params(0))


def test_it_has_the_size_of_serls(params):
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == 4_905_792


def test_the_features_of_128_pixels_are_4_by_4(params):
    shape = jax.eval_shape(
        resnet10.features, params, jax.ShapeDtypeStruct((2, 128, 128, 3), jnp.uint8)
    )
    assert shape.shape == (2, 4, 4, 512)
    assert shape.dtype == jnp.float32


def convolution(x, kernel, stride, pads):
    """[H, W, c] with [k, k, c, d], zeros around, cell by cell."""
    x = np.pad(x, (pads, pads, (0, 0)))
    planes = [correlate(x, kernel[..., d], "valid")[..., 0] for d in range(kernel.shape[-1])]
    return np.stack(planes, axis=-1)[::stride, ::stride]


def group_norm(x, layer):
    """Four groups of channels, each over all cells."""
    groups = np.split(x.astype(np.float64), 4, axis=-1)
    normed = [(g - g.mean()) / np.sqrt(g.var() + 1e-5) for g in groups]
    return np.concatenate(normed, axis=-1) * layer["scale"] + layer["bias"]


def block(x, layers, stride):
    pads = (1, 1) if stride == 1 else (0, 1)
    y = convolution(x, layers["Conv_0"]["kernel"], stride, pads)
    y = np.maximum(group_norm(y, layers["MyGroupNorm_0"]), 0)
    y = group_norm(convolution(y, layers["Conv_1"]["kernel"], 1, (1, 1)), layers["MyGroupNorm_1"])
    if "conv_proj" in layers:
        x = group_norm(
            convolution(x, layers["conv_proj"]["kernel"], stride, (0, 0)), layers["norm_proj"]
        )
    return np.maximum(x + y, 0)


def independent(params, image):
    """The whole network in NumPy, in float64, for an image of even cells at every stage."""
    x = (image / 255.0 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    x = convolution(x, params["conv_init"]["kernel"], 2, (3, 3))
    x = np.maximum(group_norm(x, params["norm_init"]), 0)
    x = np.pad(x, ((0, 1), (0, 1), (0, 0)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(0, 1))
    x = windows.max(axis=(-2, -1))[::2, ::2]
    for stage in range(4):
        x = block(x, params[f"ResNetBlock_{stage}"], 1 if stage == 0 else 2)
    return x


def test_the_features_equal_an_independent_computation(params):
    rng = np.random.default_rng(0)
    params = jax.tree.map(  # scales and biases too: fresh ones are all 1 and 0
        lambda leaf: leaf + rng.normal(scale=0.1, size=leaf.shape) if leaf.ndim == 1 else leaf,
        params,
    )
    image = rng.integers(0, 256, (32, 64, 3), dtype=np.uint8)
    found = jax.jit(resnet10.features)(params, image[None])[0]
    np.testing.assert_allclose(found, independent(params, image), rtol=1e-3, atol=1e-3)


def write(path, params) -> Path:
    path.write_bytes(pickle.dumps(params))
    return path


def test_a_file_of_flax_parameters_is_read_whatever_else_is_in_it(params, tmp_path):
    tree = flax.core.freeze(jax.tree.map(jnp.asarray, params) | {"head": {"bias": jnp.ones(3)}})
    read, found = resnet10.load_params(str(write(tmp_path / "a.pkl", tree)))
    assert len(found) == 64
    jax.tree.map(np.testing.assert_array_equal, read, params)


def test_another_file_than_the_expected_one_is_refused(params, tmp_path):
    path = str(write(tmp_path / "a.pkl", params))
    _, found = resnet10.load_params(path)
    assert resnet10.load_params(path, found.upper())[1] == found
    with pytest.raises(WeightsError, match=f"have sha256 {found}, expected {'a' * 64}"):
        resnet10.load_params(path, "a" * 64)


def test_without_a_file_it_says_where_to_get_one():
    with pytest.raises(WeightsError, match=r"download https://github\.com/rail-berkeley/serl/"):
        resnet10.load_params()


def test_parameters_that_do_not_fit_are_named(params, tmp_path):
    short = {name: layer for name, layer in params.items() if name != "ResNetBlock_2"}
    with pytest.raises(WeightsError, match="lack 'ResNetBlock_2/Conv_0/kernel'"):
        resnet10.load_params(str(write(tmp_path / "a.pkl", short)))
    wrong = params | {"norm_init": {"scale": np.ones(32, np.float32), "bias": np.ones(64)}}
    with pytest.raises(WeightsError, match=r"'norm_init/scale' have shape \(32,\), expected \(64"):
        resnet10.load_params(str(write(tmp_path / "b.pkl", wrong)))
