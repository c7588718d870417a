"""A Gaussian squashed to (-1, 1) by tanh: sampling and exact log-density."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def sample(key: jax.Array, mean: jax.Array, std: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Reparametrised sample and its log-density: ([..., A], [...])."""
    noise = jax.random.normal(key, mean.shape, mean.dtype)
    raw = mean + std * noise
    log_normal = -0.5 * noise**2 - jnp.log(std) - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.tanh(raw), jnp.sum(log_normal - _log_slope(raw), axis=-1)


def mode(mean: jax.Array) -> jax.Array:
    """The deterministic action: tanh of the mean."""
    return jnp.tanh(mean)


def log_prob(action: jax.Array, mean: jax.Array, std: jax.Array) -> jax.Array:
    """Log-density of `action` [..., A]; actions at the limits are moved inside by 1e-4."""
    raw = jnp.arctanh(jnp.clip(action, -1 + 1e-4, 1 - 1e-4))
    log_normal = -0.5 * ((raw - mean) / std) ** 2 - jnp.log(std) - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.sum(log_normal - _log_slope(raw), axis=-1)


def _log_slope(raw: jax.Array) -> jax.Array:
    """log(1 - tanh(x)^2), stable for large |x|."""
    return 2.0 * (jnp.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
