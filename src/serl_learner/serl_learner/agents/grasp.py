"""The grasp critic: a gripper closes, stays or opens as double Q-learning says, beside the policy.

As in HIL-SERL (arXiv:2410.21845, section III-C) it sees what the policy sees, and the shared
encoder is not trained by it. Three things are otherwise than there. What the gripper cannot do,
closing when it is closed, is neither chosen nor backed up: such a step is stored as one that
leaves it as it is, so its value would never be learned. Steps at which it moves weigh more: there
are two in an episode. And what people did is imitated with a margin, as in DQfD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

from serl_learner import losses
from serl_learner.agents.adam import adam, step
from serl_learner.agents.config import SACConfig
from serl_learner.gripper_hand import GRIPPER as GRIPPER
from serl_learner.networks.heads import GraspCritic


class Grasp(flax.struct.PyTreeNode):
    """Parameters, those of the target network, and the optimizer's moments."""

    params: Any
    target: Any
    optimizer: optax.OptState

    def fresh(self, config: SACConfig) -> Grasp:
        """With the same parameters, also of the target, and no moments."""
        moments = adam(config.learning_rate).init(self.params)
        return Grasp(self.params, jax.tree.map(jnp.copy, self.params), moments)


class Shown(flax.struct.PyTreeNode):
    """What people did: encoded observations [B, I], the batch, and how much it weighs."""

    state: jax.Array
    batch: Any
    weight: jax.Array | float


def grasp_network(config: SACConfig) -> GraspCritic:
    """The network; the actor process builds the same one from the same configuration."""
    return GraspCritic(config.hidden, config.activation, config.layer_norm)


def create_grasp(
    key: jax.Array, state: jax.Array, observation: Mapping[str, Any], config: SACConfig
) -> Grasp | None:
    """A fresh one for encoded observations [1, I]; None: it is not enabled.

    Raises:
      ValueError: the observation does not say what the gripper is commanded.
    """
    if not config.grasp.enabled:
        return None
    if GRIPPER not in observation:
        raise ValueError(f"grasp.enabled is true, but {GRIPPER!r} is not in {sorted(observation)}")
    params = grasp_network(config).init(jax.random.fold_in(key, 2), state)["params"]
    return Grasp(params, params, ()).fresh(config)


def update_grasp(
    grasp: Grasp,
    states: tuple[jax.Array, jax.Array, jax.Array],
    batch: Mapping[str, Any],
    config: SACConfig,
    shown: Shown | None = None,
) -> tuple[Grasp, dict[str, jax.Array]]:
    """One step on a batch; `states` [B, I] are o, o' and o' by the target encoder."""
    network, settings = grasp_network(config), config.grasp
    state, next_state, target_state = states
    choice, moved = _choice(batch["action"]), _moved(batch["action"])
    target = losses.grasp_target(
        batch["reward"] - settings.penalty * moved,
        config.discount * (1.0 - batch["terminated"].astype(jnp.float32)),
        network.apply({"params": grasp.params}, next_state),
        network.apply({"params": grasp.target}, target_state),
        allowed(batch["next_observation"]),
        config.grasp_range,
    )

    def loss(params: Any) -> tuple[jax.Array, jax.Array]:
        q = network.apply({"params": params}, state)
        value = losses.grasp_loss(q, choice, target, _weights(batch["action"], config))
        if shown is not None:
            value += shown.weight * grasp_cloning_loss(params, shown.state, shown.batch, config)
        return value, q

    (value, q), gradient = jax.value_and_grad(loss, has_aux=True)(grasp.params)
    params, moments = step(config.learning_rate, gradient, grasp.optimizer, grasp.params)
    tracked = optax.incremental_update(params, grasp.target, config.polyak)
    metrics = {"grasp_loss": value, "grasp_q": q.mean(), "toggles": moved.mean()}
    return Grasp(params, tracked, moments), metrics


def clone_grasp(
    grasp: Grasp, state: jax.Array, batch: Mapping[str, Any], config: SACConfig
) -> tuple[Grasp, jax.Array]:
    """One step towards what the gripper did in the batch, and the loss."""
    value, gradient = jax.value_and_grad(grasp_cloning_loss)(grasp.params, state, batch, config)
    params, moments = step(config.learning_rate, gradient, grasp.optimizer, grasp.params)
    return grasp.replace(params=params, optimizer=moments), value


def grasp_cloning_loss(
    params: Any, state: jax.Array, batch: Mapping[str, Any], config: SACConfig
) -> jax.Array:
    """How far a greedy gripper is from what was done in the batch; `state` [B, I]."""
    return losses.margin_loss(
        grasp_network(config).apply({"params": params}, state),
        _choice(batch["action"]),
        allowed(batch["observation"]),
        config.grasp.margin,
        _weights(batch["action"], config),
    )


def allowed(observation: Mapping[str, Any]) -> jax.Array:
    """What a gripper can do: close if it is open, stay, open if it is closed; bool [B, 3]."""
    is_open = jnp.asarray(observation[GRIPPER])[:, 1] > 0.0
    return jnp.stack([is_open, jnp.ones_like(is_open), ~is_open], axis=-1)


def greedy(params: Any, state: jax.Array, allowed: jax.Array, config: SACConfig) -> jax.Array:
    """The best that the gripper can do: [B], -1 close, 0 stay, +1 open."""
    q = grasp_network(config).apply({"params": params}, state)
    return jnp.where(allowed, q, -jnp.inf).argmax(axis=-1).astype(jnp.float32) - 1.0


def explored(
    key: jax.Array, chosen: jax.Array, allowed: jax.Array, epsilon: jax.Array | float
) -> jax.Array:
    """What was chosen [B], or with probability `epsilon` anything that is allowed."""
    when_key, what_key = jax.random.split(key)
    drawn = jax.random.categorical(what_key, jnp.where(allowed, 0.0, -jnp.inf)) - 1.0
    return jnp.where(jax.random.bernoulli(when_key, epsilon, chosen.shape), drawn, chosen)


def _choice(action: jax.Array) -> jax.Array:
    """Of actions [B, A] what the gripper did: 0 close, 1 stay, 2 open."""
    return jnp.round(action[:, -1]).astype(jnp.int32) + 1


def _moved(action: jax.Array) -> jax.Array:
    """Whether it closed or opened: 0 or 1, [B]."""
    return (jnp.abs(action[:, -1]) > 0.5).astype(jnp.float32)


def _weights(action: jax.Array, config: SACConfig) -> jax.Array:
    return 1.0 + (config.grasp.toggle_weight - 1.0) * _moved(action)
