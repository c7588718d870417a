"""The trained part of the classifier: from feature maps of all cameras to logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from serl_learner.rewards.config import ClassifierConfig
from serl_learner.vision.cameras import FEATURES, cameras
from serl_learner.vision.poolings import POOLINGS

Features = Mapping[str, Any]
"""`features/<camera>` [B, h, w, c] of a frozen network."""


class RewardHead(nn.Module):
    """Each camera pooled with parameters of its own; Dense, Dropout, LayerNorm, ReLU; Dense.

    Returns logits: [B] of "solved" for two classes, [B, C] for more.
    """

    config: ClassifierConfig

    @nn.compact
    def __call__(self, features: Features, train: bool = False) -> jax.Array:
        config = self.config
        pooled = []
        for camera in cameras(features, FEATURES):
            maps = features[FEATURES + camera].astype(jnp.float32)
            pooled.append(POOLINGS[config.encoder.pooling](name=f"camera_{camera}")(maps))
        x = nn.Dense(config.hidden)(jnp.concatenate(pooled, axis=-1))
        x = nn.Dropout(config.dropout, deterministic=not train)(x)
        x = nn.relu(nn.LayerNorm()(x))
        logits: jax.Array = nn.Dense(1 if config.classes == 2 else config.classes)(x)
        return logits[..., 0] if config.classes == 2 else logits


def probabilities(logits: jax.Array) -> jax.Array:
    """Of each class: logits [B] or [B, C] -> [B, C], C = 2 for the former."""
    if logits.ndim == 1:
        solved = nn.sigmoid(logits)
        return jnp.stack([1.0 - solved, solved], axis=-1)
    return nn.softmax(logits, axis=-1)


def ensemble_probabilities(head: RewardHead, params: Any, features: Features) -> jax.Array:
    """Mean over the members, along the first axis of every parameter, of their probabilities of
    each class: [B, C]."""

    def member(one: Any) -> jax.Array:
        return probabilities(head.apply({"params": one}, features))  # type: ignore[arg-type]

    return jax.vmap(member)(params).mean(axis=0)
