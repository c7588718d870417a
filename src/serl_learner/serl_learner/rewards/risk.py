"""What VICE's classifier minimises: the risk of labelled and unlabelled frames, mixup, and the
gradient penalty. Sources: see vice.py."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import entr

from serl_learner.rewards.head import Features


def risk(
    goals: jax.Array,
    others: jax.Array,
    called: jax.Array,
    count: jax.Array | int,
    label_smoothing: float,
    prior: float,
) -> jax.Array:
    """What the classifier minimises: solved frames and the rest weigh one half each.

    Of the frames on which a success was called a share p, `prior`, may be solved. As "not solved"
    they cost max(0, R_u - p R_g), where R_u is what all of them cost and R_g what goals would
    (nnPU, equation 6); costs are counted from the least that smoothed labels allow. Once they cost
    no more than p R_g, nothing pulls at them.

    Args:
      goals: logits of frames that show the task solved, [G].
      others: of frames that do not, [N].
      called: of frames on which a success was called, [C].
      count: as many as these weigh, beside N of the others: C, or 0 for none.
      label_smoothing, prior: see ViceConfig.

    Returns:
      Scalar.
    """
    s = 0.5 * label_smoothing
    least = entr(s) + entr(1.0 - s)

    def cost(logits: jax.Array, label: float) -> jax.Array:
        target = smooth(jnp.full_like(logits, label), label_smoothing)
        return optax.sigmoid_binary_cross_entropy(logits, target).sum() / max(len(logits), 1)

    excess = jnp.maximum(cost(called, 0.0) - least - prior * (cost(goals, 0.0) - least), 0.0)
    rest = len(others) * cost(others, 0.0) + count * (least + excess)
    return 0.5 * (cost(goals, 1.0) + rest / (len(others) + count))


def smooth(labels: jax.Array, smoothing: float) -> jax.Array:
    """1 -> 1 - s/2, 0 -> s/2."""
    return labels * (1.0 - smoothing) + 0.5 * smoothing


def mix(key: jax.Array, features: Features, alpha: float) -> Features:
    """Every frame with another of the batch: l x + (1 - l) x', l from Beta(alpha, alpha) once.

    All cameras of a frame are mixed with those of the same other one (D13). `alpha` 0 leaves
    everything as it is.
    """
    if alpha == 0.0:
        return {name: maps.astype(jnp.float32) for name, maps in features.items()}
    share_key, order_key = jax.random.split(key)
    share = jax.random.beta(share_key, alpha, alpha)
    order = jax.random.permutation(order_key, len(next(iter(features.values()))))

    def mixture(x: jax.Array) -> jax.Array:
        x = x.astype(jnp.float32)
        return share * x + (1.0 - share) * x[order]

    return {name: mixture(maps) for name, maps in features.items()}


def gradient_penalty(key: jax.Array, logit: Any, features: Features) -> jax.Array:
    """Mean of (|d logit / dx| - 1)^2 at points between the two halves of a batch, the norm taken
    over the features of all cameras together (WGAN-GP, equation 3)."""
    half = len(next(iter(features.values()))) // 2
    share = jax.random.uniform(key, (half, 1, 1, 1))
    between = {k: share * x[:half] + (1.0 - share) * x[half:] for k, x in features.items()}
    slopes = jax.grad(lambda x: logit(x).sum())(between)
    squares = sum(jnp.sum(jnp.square(s), axis=(1, 2, 3)) for s in slopes.values())
    return jnp.mean(jnp.square(jnp.sqrt(squares + 1e-12) - 1.0))
