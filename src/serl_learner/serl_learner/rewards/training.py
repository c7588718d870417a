"""Fits the classifier's head to features of labelled frames that are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from serl_learner.agents.adam import adam, step
from serl_learner.frame_encoder import FrameEncoder
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.frames import LabelledFrame, check_balance
from serl_learner.rewards.head import RewardHead, ensemble_probabilities
from serl_learner.types import Record, spec_of
from serl_learner.vision.config import EncoderConfig

_SCORED = 256  # frames at once


def fit(frames: Sequence[LabelledFrame], config: ClassifierConfig, key: jax.Array) -> Any:
    """Parameters of RewardHead trained on `frames`, on batches with every class as often; those of
    the members lie along the first axis.

    Raises:
      BadFrames: a class has no frame.
      WeightsError: the frozen network cannot be loaded.
      ValueError: the parameters became non-finite.
    """
    check_balance(frames, config.classes, "the frames to train on")
    features = encode_frames([frame.record for frame in frames], config.encoder)
    members = _members(np.array([frame.label for frame in frames]), config.classes)
    keys = jax.random.split(key, config.members)
    params = jax.device_get(_train_all(keys, features, *members, config))
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(params)):
        raise ValueError(
            f"the classifier is not finite after {config.updates} updates with learning_rate"
            f" {config.learning_rate}"
        )
    return params


def encode_frames(records: Sequence[Record], config: EncoderConfig) -> dict[str, np.ndarray]:
    """`features/<camera>` of the records' cached crops, float16 [N, K, h, w, c]."""
    maps = FrameEncoder(spec_of(records[0].observation), config).frames(records)
    return {name: np.stack([frame[name] for frame in maps]) for name in maps[0]}


def score(params: Any, frames: Sequence[LabelledFrame], config: ClassifierConfig) -> np.ndarray:
    """Probability of each class, [N, C], of the plain frames."""
    plain = replace(config, encoder=replace(config.encoder, crops=1))
    parts = []
    for start in range(0, len(frames), _SCORED):
        records = [frame.record for frame in frames[start : start + _SCORED]]
        features = encode_frames(records, plain.encoder)
        parts.append(np.asarray(_score(params, {k: x[:, 0] for k, x in features.items()}, plain)))
    return np.concatenate(parts)


def _members(labels: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames of each class, int [C, M], and how many of the M are meant, int [C]."""
    groups = [np.flatnonzero(labels == label) for label in range(classes)]
    table = np.zeros((classes, max(map(len, groups))), np.int32)
    for row, group in zip(table, groups):
        row[: len(group)] = group
    return table, np.array([len(group) for group in groups], np.int32)


@partial(jax.jit, static_argnames="config")
def _score(params: Any, features: Any, config: ClassifierConfig) -> jax.Array:
    return ensemble_probabilities(RewardHead(config), params, features)


@partial(jax.jit, static_argnames="config")
def _train_all(
    keys: jax.Array, features: Any, table: jax.Array, sizes: jax.Array, config: ClassifierConfig
) -> Any:
    """Every member, all updates, as one program."""
    return jax.lax.map(lambda key: _train(key, features, table, sizes, config), keys)


def _train(
    key: jax.Array, features: Any, table: jax.Array, sizes: jax.Array, config: ClassifierConfig
) -> Any:
    """One member."""
    init_key, key = jax.random.split(key)
    one = {name: maps[:1, 0] for name, maps in features.items()}
    params = RewardHead(config).init(init_key, one)["params"]
    each = config.batch_size // config.classes
    labels = jnp.repeat(jnp.arange(config.classes), each)

    def update(state: Any, _: None) -> tuple[Any, None]:
        params, moments, key = state
        key, frame_key, crop_key, dropout_key = jax.random.split(key, 4)
        chance = jax.random.uniform(frame_key, (config.classes, each))
        chosen = (chance * sizes[:, None]).astype(jnp.int32)
        frame = jnp.take_along_axis(table, chosen, axis=1).reshape(-1)
        crop = jax.random.randint(crop_key, frame.shape, 0, config.encoder.crops)
        batch = {name: maps[frame, crop] for name, maps in features.items()}
        gradient = jax.grad(_loss)(params, batch, labels, dropout_key, config)
        params, moments = step(config.learning_rate, gradient, moments, params)
        return (params, moments, key), None

    state = (params, adam(config.learning_rate).init(params), key)
    return jax.lax.scan(update, state, None, length=config.updates)[0][0]


def _loss(
    params: Any, batch: Any, labels: jax.Array, dropout_key: jax.Array, config: ClassifierConfig
) -> jax.Array:
    """Mean cross-entropy [nats]."""
    logits = RewardHead(config).apply(
        {"params": params}, batch, train=True, rngs={"dropout": dropout_key}
    )
    if config.classes == 2:
        return optax.sigmoid_binary_cross_entropy(logits, labels.astype(jnp.float32)).mean()
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
