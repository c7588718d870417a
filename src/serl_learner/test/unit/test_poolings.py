"""Poolings and FiLM by hand-worked maps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner.vision.film import FiLM
from serl_learner.vision.poolings import (
    POOLINGS,
    Average,
    Flatten,
    SpatialLearnedEmbeddings,
    SpatialSoftmax,
)


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("flatten", 4 * 6 * 16),
        ("spatial_learned_embeddings", 5 * 8),
        ("spatial_softmax", 2 * 5),
        ("average", 5),
    ],
)
def test_sizes(name, features):
    maps = jnp.ones((3, 4, 6, 5))
    pooled, _ = POOLINGS[name]().init_with_output(jax.random.PRNGKey(0), maps)
    assert pooled.shape == (3, features)


def test_flatten_keeps_the_cells_apart():
    params = {"Dense_0": {"kernel": jnp.ones((3, 1)), "bias": jnp.array([0.5])}}
    maps = jnp.arange(12.0).reshape(1, 2, 2, 3)
    pooled = Flatten(channels=1).apply({"params": params}, maps)
    np.testing.assert_array_equal(pooled, [[3.5, 12.5, 21.5, 30.5]])


def test_embeddings_are_weighted_sums_over_the_cells_of_each_channel():
    keys = jax.random.split(jax.random.PRNGKey(0))
    maps = jax.random.normal(keys[0], (2, 3, 4, 5))
    kernel = jax.random.normal(keys[1], (3, 4, 5, 2))
    pooled = SpatialLearnedEmbeddings(embeddings=2).apply({"params": {"kernel": kernel}}, maps)
    expected = (maps[..., None] * kernel[None]).sum(axis=(1, 2))  # as SERL writes it
    np.testing.assert_allclose(pooled, expected.reshape(2, 10), rtol=1e-5, atol=1e-5)


def test_fresh_embeddings_keep_the_scale():
    maps = jax.random.normal(jax.random.PRNGKey(0), (64, 8, 8, 32))
    pooled, _ = SpatialLearnedEmbeddings().init_with_output(jax.random.PRNGKey(1), maps)
    assert 0.9 < float(pooled.std()) < 1.1


def test_softmax_says_where_each_channel_is_strongest():
    maps = np.zeros((1, 3, 5, 2), np.float32)
    maps[0, 2, 0, 0] = 100.0  # lower left
    maps[0, 1, 4, 1] = 100.0  # middle right
    module = SpatialSoftmax()
    params = {"temperature": jnp.float32(1.0)}
    np.testing.assert_allclose(
        module.apply({"params": params}, maps)[0], [-1, 1, 1, 0], atol=1e-6
    )  # columns of both channels, then rows
    hot = module.apply({"params": {"temperature": jnp.float32(1e6)}}, maps)
    np.testing.assert_allclose(hot[0], np.zeros(4), atol=1e-3)


def test_average_is_the_mean_of_the_cells():
    maps = jnp.arange(12.0).reshape(1, 2, 2, 3)
    np.testing.assert_array_equal(Average().apply({}, maps), [[4.5, 5.5, 6.5]])


def test_film_scales_and_shifts_channels_by_the_vector():
    kernel = jnp.array([[1.0, 0.0, 0.0, 3.0]])  # scales of both channels, then shifts
    params = {"Dense_0": {"kernel": kernel, "bias": jnp.array([0.0, 1.0, 0.0, 0.0])}}
    maps = jnp.ones((2, 1, 1, 2))
    out = FiLM().apply({"params": params}, maps, jnp.array([[2.0], [0.0]]))
    np.testing.assert_array_equal(out[:, 0, 0], [[3, 8], [1, 2]])


def test_fresh_film_changes_nothing():
    maps = jax.random.normal(jax.random.PRNGKey(0), (2, 3, 3, 4))
    out, _ = FiLM().init_with_output(jax.random.PRNGKey(1), maps, jnp.ones((2, 5)))
    np.testing.assert_array_equal(out, maps)
