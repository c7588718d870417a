"""SERL's SAC update, rebuilt to be measured against; nothing else uses it.

As the original does it: all networks in one parameter tree; three optimizers, each over the whole
tree, whose updates are added; target parameters of everything; a vmapped ensemble of which every
critic is evaluated for the target and two are then picked, with replacement; critic updates on
minibatches of one large batch, then policy and temperature on the whole of it; data sampled on
the host from NumPy arrays. These are the costs to compare with, faults included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax

from serl_learner import tanh_gaussian
from serl_learner.agents.config import SACConfig
from serl_learner.networks.heads import Critic, GaussianPolicy, Temperature
from serl_learner.networks.state_vector import state_vector

NETWORKS = ("actor", "critic", "temperature")
Batch = dict[str, Any]
Loss = Callable[[Any], jax.Array]


class Networks(nn.Module):
    """All networks in one module, hence in one parameter tree."""

    config: SACConfig
    action_dim: int

    def setup(self) -> None:
        """The three networks."""
        c = self.config
        ensemble = nn.vmap(
            Critic,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            in_axes=None,
            axis_size=c.critics,
        )
        self.actor = GaussianPolicy(self.action_dim, c.hidden, c.activation, c.layer_norm)
        self.critic = ensemble(c.hidden, c.activation, c.layer_norm)
        self.temperature = Temperature(c.temperature_initial)

    def __call__(self, state: jax.Array, action: jax.Array) -> Any:
        """Everything once, to create the parameters."""
        return self.actor(state), self.critic(state, action), self.temperature()

    def policy(self, state: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Mean and deviation, [B, A] each."""
        return self.actor(state)

    def q(self, state: jax.Array, action: jax.Array) -> jax.Array:
        """[E, B]."""
        return self.critic(state, action)

    def alpha(self) -> jax.Array:
        """Entropy weight."""
        return self.temperature()


class ReferenceAgent(flax.struct.PyTreeNode):
    """Parameters, their averages, three optimizer states over all of them, PRNG key."""

    params: Any
    target_params: Any
    optimizers: dict[str, Any]
    key: jax.Array
    networks: Networks = flax.struct.field(pytree_node=False)

    @classmethod
    def create(
        cls, key: jax.Array, state_size: int, action_dim: int, config: SACConfig
    ) -> ReferenceAgent:
        """A fresh agent for states [state_size]."""
        networks = Networks(config, action_dim)
        key, init_key = jax.random.split(key)
        inputs = (jnp.zeros((1, state_size)), jnp.zeros((1, action_dim)))
        params = jax.jit(networks.init)(init_key, *inputs)["params"]
        return cls(
            params=params,
            target_params=jax.tree.map(jnp.copy, params),
            optimizers={name: _optimizer(config).init(params) for name in NETWORKS},
            key=key,
            networks=networks,
        )

    def update(self, batch: Batch, which: tuple[str, ...]) -> tuple[ReferenceAgent, jax.Array]:
        """Gradients for the networks in `which`, zeros for the others; all optimizers step."""
        key, *keys = jax.random.split(self.key, 1 + len(NETWORKS))
        losses = {
            "actor": partial(self._actor_loss, batch, keys[0]),
            "critic": partial(self._critic_loss, batch, keys[1]),
            "temperature": partial(self._temperature_loss, batch, keys[2]),
        }
        config = self.networks.config
        total = jax.tree.map(jnp.zeros_like, self.params)
        values, optimizers = jnp.float32(0.0), {}
        for name in NETWORKS:
            loss: Loss = losses[name] if name in which else lambda _: jnp.float32(0.0)
            value, gradient = jax.value_and_grad(loss)(self.params)
            updates, optimizers[name] = _optimizer(config).update(
                gradient, self.optimizers[name], self.params
            )
            total = jax.tree.map(jnp.add, total, updates)
            values += value
        params = optax.apply_updates(self.params, total)
        agent = self.replace(params=params, optimizers=optimizers, key=key)
        if "critic" in which:
            target = optax.incremental_update(params, self.target_params, config.polyak)
            agent = agent.replace(target_params=target)
        return agent, values

    def _apply(self, params: Any, method: Any, *inputs: jax.Array) -> Any:
        return self.networks.apply({"params": params}, *inputs, method=method)

    def _critic_loss(self, batch: Batch, key: jax.Array, params: Any) -> jax.Array:
        config = self.networks.config
        action_key, subset_key = jax.random.split(key)
        following = state_vector(batch["next_observation"])
        action, _ = tanh_gaussian.sample(
            action_key, *self._apply(self.params, Networks.policy, following)
        )
        every = self._apply(self.target_params, Networks.q, following, action)
        picked = jax.random.randint(subset_key, (config.critic_subset,), 0, config.critics)
        discount = config.discount * (1.0 - batch["terminated"])
        target = batch["reward"] + discount * every[picked].min(axis=0)
        q = self._apply(params, Networks.q, state_vector(batch["observation"]), batch["action"])
        return jnp.mean((q - jax.lax.stop_gradient(target)) ** 2)

    def _actor_loss(self, batch: Batch, key: jax.Array, params: Any) -> jax.Array:
        state = state_vector(batch["observation"])
        action, log_prob = tanh_gaussian.sample(key, *self._apply(params, Networks.policy, state))
        q = self._apply(self.params, Networks.q, state, action).mean(axis=0)
        return jnp.mean(self._apply(self.params, Networks.alpha) * log_prob - q)

    def _temperature_loss(self, batch: Batch, key: jax.Array, params: Any) -> jax.Array:
        following = state_vector(batch["next_observation"])
        _, log_prob = tanh_gaussian.sample(
            key, *self._apply(self.params, Networks.policy, following)
        )
        config = self.networks.config
        wanted = config.target_entropy_per_dimension * self.networks.action_dim
        return self._apply(params, Networks.alpha) * (-log_prob.mean() - wanted)


def _optimizer(config: SACConfig) -> optax.GradientTransformation:
    return optax.adam(config.learning_rate)


@partial(jax.jit, static_argnames="utd_ratio")
def update_high_utd(
    agent: ReferenceAgent, batch: Batch, utd_ratio: int
) -> tuple[ReferenceAgent, jax.Array]:
    """`utd_ratio` critic updates on minibatches of `batch`, then the rest on the whole of it."""
    minibatches = jax.tree.map(lambda x: x.reshape(utd_ratio, -1, *x.shape[1:]), batch)

    def step(agent: ReferenceAgent, minibatch: Batch) -> tuple[ReferenceAgent, jax.Array]:
        return agent.update(minibatch, ("critic",))

    agent, losses = jax.lax.scan(step, agent, minibatches)
    agent, loss = agent.update(batch, ("actor", "temperature"))
    return agent, losses.mean() + loss


def sample_on_host(prior: Batch, online: Batch, rng: np.random.Generator, size: int) -> Batch:
    """Half of each, one half after the other, drawn from NumPy arrays and put on the device."""

    def draw(data: Batch) -> Batch:
        index = rng.integers(0, len(data["reward"]), size // 2)
        return jax.tree.map(lambda leaf: leaf[index], data)

    halves = (draw(prior), draw(online))
    return jax.device_put(jax.tree.map(lambda a, b: np.concatenate([a, b]), *halves))
