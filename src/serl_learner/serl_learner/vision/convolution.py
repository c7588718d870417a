"""Convolutions with "same" padding, written so that XLA makes fast CPU code of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Cells to add before and after, so that ceil(size / stride) come out; the odd one after."""
    outputs = -(-size // stride)
    total = max((outputs - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def convolve(x: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """[N, H, W, c] with kernel [k, k, c, d] -> [N, H/stride, W/stride, d], rounded up."""
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pointwise(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    """A 1x1 convolution: [N, H, W, c] with kernel [c, d] and bias [d] -> [N, H, W, d]."""
    return x @ kernel + bias


def depthwise(x: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """Each channel with a kernel of its own, as shifted multiply-adds: XLA's grouped convolution
    is ten times slower on a CPU.

    [N, H, W, c] with kernel [k, k, c] -> [N, H/stride, W/stride, c], rounded up.
    """
    size = kernel.shape[0]
    height, width = (-(-n // stride) for n in x.shape[1:3])
    rows, columns = (same_padding(n, size, stride) for n in x.shape[1:3])
    x = jnp.pad(x, ((0, 0), rows, columns, (0, 0)))
    y = jnp.float32(0.0)
    for i in range(size):
        for j in range(size):
            shifted = x[
                :,
                i : i + (height - 1) * stride + 1 : stride,
                j : j + (width - 1) * stride + 1 : stride,
            ]
            y = y + shifted * kernel[i, j]
    return y
