"""The fast forms of convolutions equal XLA's own, padded as TensorFlow pads."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from serl_learner.vision.convolution import depthwise, pointwise, same_padding


@pytest.mark.parametrize("size", [(8, 8), (7, 10), (5, 4)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5])
def test_shifted_multiply_adds_equal_a_grouped_convolution(size, stride, kernel):
    keys = jax.random.split(jax.random.PRNGKey(0))
    x = jax.random.normal(keys[0], (2, *size, 6))
    weights = jax.random.normal(keys[1], (kernel, kernel, 6))
    expected = lax.conv_general_dilated(
        x,
        weights[:, :, None, :],
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=6,
    )
    np.testing.assert_allclose(depthwise(x, weights, stride), expected, rtol=1e-5, atol=1e-5)


def test_the_odd_cell_of_padding_comes_after():
    assert same_padding(128, 3, 2) == (0, 1)
    assert same_padding(127, 3, 2) == (1, 1)
    assert same_padding(8, 5, 1) == (2, 2)
    assert same_padding(8, 5, 2) == (1, 2)


def test_a_pointwise_convolution_mixes_channels_of_each_cell():
    x = np.arange(8.0).reshape(1, 2, 2, 2)
    kernel, bias = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([0.0, 10.0])
    expected = [[[[1, 12], [5, 16]], [[9, 20], [13, 24]]]]
    np.testing.assert_array_equal(pointwise(x, kernel, bias), expected)
