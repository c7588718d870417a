"""Policy, critic and temperature heads over a flat state vector."""

from __future__ import annotations

from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp

from serl_learner.networks.mlp import MLP


class GaussianPolicy(nn.Module):
    """State -> mean and standard deviation of a Gaussian before the tanh squashing.

    [B, I] -> ([B, A], [B, A]); the deviation is exp(.), clipped to [std_min, std_max].
    """

    action_dim: int
    hidden: Sequence[int]
    activation: str = "tanh"
    layer_norm: bool = True
    std_min: float = 1e-5
    std_max: float = 5.0

    @nn.compact
    def __call__(self, state: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = MLP(self.hidden, self.activation, self.layer_norm)(state)
        mean = nn.Dense(self.action_dim, name="mean")(x)
        std = jnp.exp(nn.Dense(self.action_dim, name="log_std")(x))
        return mean, jnp.clip(std, self.std_min, self.std_max)


class Critic(nn.Module):
    """One Q function with a head of its own: ([B, I], [B, A]) -> [B]."""

    hidden: Sequence[int]
    activation: str = "tanh"
    layer_norm: bool = True

    @nn.compact
    def __call__(self, state: jax.Array, action: jax.Array) -> jax.Array:
        x = jnp.concatenate([state, action], axis=-1)
        x = MLP(self.hidden, self.activation, self.layer_norm)(x)
        return nn.Dense(1)(x)[..., 0]


class GraspCritic(nn.Module):
    """What closing the gripper, leaving it and opening it are worth: [B, I] -> [B, 3].

    Its last hidden layer is one like the others.
    """

    hidden: Sequence[int]
    activation: str = "tanh"
    layer_norm: bool = True

    @nn.compact
    def __call__(self, state: jax.Array) -> jax.Array:
        return nn.Dense(3)(MLP(self.hidden, self.activation, self.layer_norm)(state))


class Temperature(nn.Module):
    """Entropy weight, kept positive by a softplus."""

    initial: float

    @nn.compact
    def __call__(self) -> jax.Array:
        inverse_softplus = jnp.log(jnp.expm1(jnp.float32(self.initial)))
        return nn.softplus(self.param("raw", lambda _: inverse_softplus))
