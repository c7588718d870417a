"""A reward classifier on the wire: the content of its file, with a checksum."""

from __future__ import annotations

import zlib

from serl_learner.params_codec import EncodedParams, LayoutMismatch, check_crc
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.model_file import model_from_bytes, model_to_bytes

CODEC = "serl-reward-1"


def encode_model(model: RewardModel, version: int) -> EncodedParams:
    """The model as bytes; `version` only grows while one is trained."""
    data = model_to_bytes(model)
    return EncodedParams(version, version, model.model_id, CODEC, zlib.crc32(data), data)


def decode_model(encoded: EncodedParams) -> RewardModel:
    """What `encode_model` encoded.

    Raises:
      ParamsError: the codec is another, or the bytes are damaged.
      ModelError, WeightsError: as `read_model`.
    """
    if encoded.codec != CODEC:
        raise LayoutMismatch(f"codec is {encoded.codec!r}, expected {CODEC!r}")
    check_crc(encoded)
    return model_from_bytes(encoded.data, f"reward classifier {encoded.version}")
