"""Update rules of soft actor-critic (arXiv:1801.01290, 1812.05905) as pure functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from serl_learner import tanh_gaussian


def td_target(
    reward: jax.Array,
    discount: jax.Array,
    next_q: jax.Array,
    next_log_prob: jax.Array,
    temperature: jax.Array,
    target_range: tuple[float, float] | None = None,
) -> jax.Array:
    """Soft Bellman target for Q(o_t, a_t); gradients stopped.

    Args:
      reward: r_t, [B].
      discount: gamma * (1 - terminated), [B]. A time-limit truncation keeps its discount, so it
        still bootstraps.
      next_q: target critics at (o_{t+1}, a_{t+1}), [E, B]; the least of them is taken.
      next_log_prob: log pi(a_{t+1} | o_{t+1}), [B].
      temperature: entropy weight, scalar >= 0; zero leaves the entropy out of the backup.
      target_range: least and greatest return that is possible; None: no clipping.

    Returns:
      [B].
    """
    target = reward + discount * (next_q.min(axis=0) - temperature * next_log_prob)
    if target_range is not None:
        target = jnp.clip(target, *target_range)
    return jax.lax.stop_gradient(target)


def critic_loss(q: jax.Array, target: jax.Array) -> jax.Array:
    """Squared error averaged over ensemble and batch: q [E, B], target [B] -> scalar."""
    return jnp.mean((q - target[None]) ** 2)


def grasp_target(
    reward: jax.Array,
    discount: jax.Array,
    next_online_q: jax.Array,
    next_target_q: jax.Array,
    next_allowed: jax.Array,
    target_range: tuple[float, float] | None = None,
) -> jax.Array:
    """Target of double Q-learning (arXiv:1509.06461, eq. 4) for what a gripper did.

    Args:
      reward: r_t, what moving the gripper costs taken off, [B].
      discount: gamma * (1 - terminated), [B].
      next_online_q: at o_{t+1}, by the network that is trained: it chooses, [B, C].
      next_target_q: by the target network: it says what that is worth, [B, C].
      next_allowed: what can be chosen there, bool [B, C].
      target_range: least and greatest return that is possible; None: no clipping.

    Returns:
      [B]; gradients stopped.
    """
    chosen = jnp.where(next_allowed, next_online_q, -jnp.inf).argmax(axis=-1)
    target = reward + discount * _taken(next_target_q, chosen)
    if target_range is not None:
        target = jnp.clip(target, *target_range)
    return jax.lax.stop_gradient(target)


def grasp_loss(q: jax.Array, choice: jax.Array, target: jax.Array, weight: jax.Array) -> jax.Array:
    """Weighted mean of (Q(o, choice) - target)^2: q [B, C], choice int [B], target, weight [B]."""
    return jnp.average((_taken(q, choice) - target) ** 2, weights=weight)


def margin_loss(
    q: jax.Array, choice: jax.Array, allowed: jax.Array, margin: float, weight: jax.Array
) -> jax.Array:
    """How far what was shown is from being worth `margin` more than all else that was allowed.

    The large-margin loss of DQfD (arXiv:1704.03732, eq. 1), a weighted mean over the batch; zero
    where a greedy gripper does what was shown, and is sure. q, allowed [B, C]; choice, weight [B].
    """
    shown = jax.nn.one_hot(choice, q.shape[-1], dtype=bool)
    rival = jnp.where(allowed | shown, q + margin * ~shown, -jnp.inf).max(axis=-1)
    return jnp.average(rival - _taken(q, choice), weights=weight)


def _taken(q: jax.Array, choice: jax.Array) -> jax.Array:
    """q [B, C] at choice [B]: [B]."""
    return jnp.take_along_axis(q, choice[:, None], axis=-1)[:, 0]


def actor_loss(q: jax.Array, log_prob: jax.Array, temperature: jax.Array) -> jax.Array:
    """Expected -(Q - temperature * log pi); q [E, B] is averaged over the ensemble (REDQ)."""
    return jnp.mean(jax.lax.stop_gradient(temperature) * log_prob - q.mean(axis=0))


def cloning_loss(action: jax.Array, mean: jax.Array, std: jax.Array) -> jax.Array:
    """Mean -log pi(a | o) of a policy with these `mean` and `std` before the tanh, all [B, A]."""
    return -tanh_gaussian.log_prob(action, mean, std).mean()


def temperature_loss(
    temperature: jax.Array, log_prob: jax.Array, target_entropy: float
) -> jax.Array:
    """Raises the temperature while the entropy -E[log pi] is below its target."""
    return temperature * jax.lax.stop_gradient(-log_prob.mean() - target_entropy)
