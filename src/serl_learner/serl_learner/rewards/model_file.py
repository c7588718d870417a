"""A reward classifier as one file: a line of JSON, then the weights; nothing in it is executed."""

from __future__ import annotations

import dataclasses
import io
import json
import zlib
from pathlib import Path
from typing import Any

import flax.serialization
import jax
import numpy as np

from serl_learner.atomic_file import write_file
from serl_learner.frame_encoder import frozen_trunk
from serl_learner.params_codec import CODEC, EncodedParams, ParamsError, decode
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.head import RewardHead
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.model_header import MAGIC, ModelError, open_model, parse_header
from serl_learner.vision.cameras import FEATURES
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.trunk import Trunk


def write_model(path: Path, model: RewardModel) -> None:
    """Writes the model, atomically."""
    write_file(path, model_to_bytes(model))


def model_to_bytes(model: RewardModel) -> bytes:
    """What a file of it holds."""
    data = flax.serialization.to_bytes(jax.device_get(model.params))
    header = {
        "model_id": model.model_id,
        "config": dataclasses.asdict(model.config),
        "trunk": model.config.encoder.kind,
        "weights_hash": model.weights_hash,
        "sizes": {camera: list(size) for camera, size in model.sizes.items()},
        "threshold": model.threshold,
        "frames": model.frames,
        "report": dict(model.report),
        "codec": CODEC,
        "crc32": zlib.crc32(data),
    }
    return MAGIC + json.dumps(header).encode() + b"\n" + data


def read_model(path: Path) -> RewardModel:
    """The model of a file.

    Raises:
      ModelError: the file cannot be read, is damaged, or belongs to another frozen network.
      WeightsError: the frozen network cannot be loaded.
    """
    with open_model(path) as (header, file):
        return _model(str(path), header, file.read())


def model_from_bytes(content: bytes, where: str) -> RewardModel:
    """The model of a file's content; `where` it is from is for messages.

    Raises:
      ModelError, WeightsError: as `read_model`.
    """
    file = io.BytesIO(content)
    header = parse_header(where, file)
    return _model(where, header, file.read())


def _model(where: str, header: dict[str, Any], data: bytes) -> RewardModel:
    try:
        config = _config(header["config"])
        sizes = {camera: (int(h), int(w)) for camera, (h, w) in header["sizes"].items()}
        trunk = frozen_trunk(config.encoder)
        if trunk.weights_hash != header["weights_hash"]:
            raise ModelError(
                f"{where} was trained on weights {header['weights_hash']} of {config.encoder.kind},"
                f" here are {trunk.weights_hash}"
            )
        layout = header["model_id"]
        encoded = EncodedParams(0, 0, layout, header["codec"], header["crc32"], data)
        params = decode(encoded, _template(config, sizes, trunk), layout)
        model = RewardModel(
            config=config,
            sizes=sizes,
            params=params,
            weights_hash=trunk.weights_hash,
            threshold=header["threshold"],
            frames=header["frames"],
            report=header["report"],
        )
    except (KeyError, TypeError, ParamsError) as error:
        raise ModelError(f"{where} is damaged: {error!r}") from error
    if model.model_id != header["model_id"]:
        raise ModelError(
            f"{where} says it is model {header['model_id']}, but holds {model.model_id}: its header"
            " does not belong to its weights"
        )
    return model


def _config(plain: dict[str, Any]) -> ClassifierConfig:
    encoder = EncoderConfig(**plain["encoder"])
    return ClassifierConfig(**{**plain, "encoder": encoder})


def _template(config: ClassifierConfig, sizes: dict[str, tuple[int, int]], trunk: Trunk) -> Any:
    """Zeros of the shapes that the head's parameters have."""
    features = {
        FEATURES + camera: jax.ShapeDtypeStruct((1, *trunk.feature_shape(*size)), np.float16)
        for camera, size in sizes.items()
    }
    head = RewardHead(config)
    shapes = jax.eval_shape(lambda x: head.init(jax.random.PRNGKey(0), x)["params"], features)
    return jax.tree.map(lambda leaf: np.zeros((config.members, *leaf.shape), leaf.dtype), shapes)
