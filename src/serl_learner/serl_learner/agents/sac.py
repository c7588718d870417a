"""Soft actor-critic with a REDQ ensemble: what an RLPD learner updates.

Sources: SAC arXiv:1812.05905, REDQ arXiv:2101.05982, RLPD arXiv:2302.02948.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

from serl_learner import losses, tanh_gaussian
from serl_learner.agents import policy_params
from serl_learner.agents.adam import adam, step
from serl_learner.agents.config import SACConfig
from serl_learner.agents.grasp import Grasp, Shown, clone_grasp, create_grasp, update_grasp
from serl_learner.networks.ensemble import apply_ensemble, init_ensemble, subset
from serl_learner.networks.heads import Critic, GaussianPolicy, Temperature
from serl_learner.rewards.vice import Vice, create_vice
from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import FEATURES
from serl_learner.vision.encoder import ObservationEncoder

Batch = Mapping[str, Any]
Metrics = dict[str, jax.Array]


class SACAgent(flax.struct.PyTreeNode):
    """Parameters, optimizers and PRNG key; every network has an optimizer of its own (D6, D39).

    `encoder` is what is trained of the shared observation encoder, by the critics' loss and with
    their optimizer only; without images it has no parameters. `vice` is the classifier that the
    rewards are of, None if they are those recorded. `grasp` chooses the last of the actions'
    dimensions; None: the policy has all.
    """

    key: jax.Array
    encoder: Any
    target_encoder: Any
    actor: Any
    critic: Any
    target_critic: Any
    temperature: Any
    actor_optimizer: optax.OptState
    critic_optimizer: optax.OptState
    temperature_optimizer: optax.OptState
    vice: Vice | None
    grasp: Grasp | None
    action_dim: int = flax.struct.field(pytree_node=False)
    config: SACConfig = flax.struct.field(pytree_node=False)

    @classmethod
    def create(
        cls, key: jax.Array, spec: ObservationSpec, action_dim: int, config: SACConfig
    ) -> SACAgent:
        """A fresh agent for what the encoder takes, `spec`, and actions [action_dim] in [-1, 1].

        With images that is `encoder_input_spec` of the observations' layout.
        """
        return _create(key, tuple(sorted(spec.items())), action_dim, config)

    def temperature_value(self) -> jax.Array:
        """Entropy weight, scalar > 0."""
        return Temperature(self.config.temperature_initial).apply({"params": self.temperature})

    def policy_params(self) -> Any:
        """What an actor needs: the policy, with images beside what is trained of the encoder."""
        grasp = None if self.grasp is None else self.grasp.params
        return policy_params.join(self.encoder, self.actor, grasp)

    @property
    def arm_dim(self) -> int:
        """Dimensions of the action that policy and critics see: the first ones."""
        return self.config.arm_dim(self.action_dim)

    def update_critic(
        self, batch: Batch, shown: Batch | None = None, weight: jax.Array | float = 0.0
    ) -> tuple[SACAgent, Metrics]:
        """One step of critics and target critics; actor and temperature stay as they are.

        The grasp critic, if there is one, has its step on the same batch; its loss holds `weight`
        times the cloning loss of `shown`, what people did.
        """
        config = self.config
        key, next_key, subset_key = jax.random.split(self.key, 3)
        following = batch["next_observation"]
        next_state = self.encode(self.encoder, following)
        next_action, next_log_prob = self._sample(self.actor, next_state, next_key)
        target_state = self.encode(self.target_encoder, following)
        targets = subset(self.target_critic, subset_key, config.critic_subset)
        target = losses.td_target(
            batch["reward"],
            config.discount * (1.0 - batch["terminated"].astype(jnp.float32)),
            apply_ensemble(critic_network(config), targets, target_state, next_action),
            next_log_prob,
            self.temperature_value() if config.entropy_backup else jnp.float32(0.0),
            config.target_range,
        )

        def loss(trained: Any) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            encoder, critic = _apart(trained)
            state = self.encode(encoder, batch["observation"])
            q = apply_ensemble(critic_network(config), critic, state, self._of_arm(batch))
            return losses.critic_loss(q, target), (q, state)

        trained = _together(self.encoder, self.critic)
        (value, (q, state)), gradient = jax.value_and_grad(loss, has_aux=True)(trained)
        trained, optimizer = step(config.learning_rate, gradient, self.critic_optimizer, trained)
        encoder, critic = _apart(trained)
        metrics = {
            "critic_loss": value,
            "q": q.mean(),
            "q_std": q.std(axis=0).mean(),
            "target": target.mean(),
        }
        agent = self.replace(
            key=key,
            encoder=encoder,
            target_encoder=optax.incremental_update(encoder, self.target_encoder, config.polyak),
            critic=critic,
            target_critic=optax.incremental_update(critic, self.target_critic, config.polyak),
            critic_optimizer=optimizer,
        )
        if self.grasp is None:
            return agent, metrics
        people = None
        if shown is not None:
            people = Shown(self.encode(self.encoder, shown["observation"]), shown, weight)
        states = state, next_state, target_state
        grasp, of_grasp = update_grasp(self.grasp, states, batch, config, people)
        return agent.replace(grasp=grasp), metrics | of_grasp

    def update_actor(
        self, batch: Batch, shown: Batch | None = None, weight: jax.Array | float = 0.0
    ) -> tuple[SACAgent, Metrics]:
        """One step of policy and temperature; critics and encoder stay as they are (D8).

        The policy's loss holds `weight` times the cloning loss of `shown`, what people did.
        """
        config = self.config
        key, sample_key = jax.random.split(self.key)
        state = jax.lax.stop_gradient(self.encode(self.encoder, batch["observation"]))

        def loss(params: Any) -> tuple[jax.Array, jax.Array]:
            action, log_prob = self._sample(params, state, sample_key)
            q = apply_ensemble(critic_network(config), self.critic, state, action)
            value = losses.actor_loss(q, log_prob, self.temperature_value())
            if shown is not None:
                encoder = jax.lax.stop_gradient(self.encoder)
                value += weight * self._cloning_loss(encoder, params, shown)
            return value, log_prob

        (value, log_prob), gradient = jax.value_and_grad(loss, has_aux=True)(self.actor)
        actor, optimizer = step(config.learning_rate, gradient, self.actor_optimizer, self.actor)
        agent = self.replace(key=key, actor=actor, actor_optimizer=optimizer)
        metrics = {"actor_loss": value, "entropy": -log_prob.mean()}
        return agent._update_temperature(log_prob, metrics)

    def update_by_cloning(self, batch: Batch) -> tuple[SACAgent, Metrics]:
        """One step of policy and encoder towards the batch's actions, of a grasp critic towards
        what the gripper did; the others and the temperature stay as they are.

        The encoder's moments are where its optimizer has them, beside those of the critics, which
        see a gradient of zero.
        """
        both = jax.value_and_grad(self._cloning_loss, argnums=(0, 1))
        value, (of_encoder, gradient) = both(self.encoder, self.actor, batch)
        rate = self.config.learning_rate
        actor, optimizer = step(rate, gradient, self.actor_optimizer, self.actor)
        agent = self.replace(actor=actor, actor_optimizer=optimizer)
        if self.encoder:
            still = jax.tree.map(jnp.zeros_like, self.critic)
            shared = _together(of_encoder, still), self.critic_optimizer
            trained, optimizer = step(rate, *shared, _together(self.encoder, self.critic))
            agent = agent.replace(encoder=_apart(trained)[0], critic_optimizer=optimizer)
        if self.grasp is not None:
            state = self.encode(self.encoder, batch["observation"])
            grasp, of_grasp = clone_grasp(self.grasp, state, batch, self.config)
            agent, value = agent.replace(grasp=grasp), value + of_grasp
        return agent, {"cloning_loss": value}

    def _cloning_loss(self, encoder: Any, actor: Any, batch: Batch) -> jax.Array:
        state = self.encode(encoder, batch["observation"])
        network = policy_network(self.arm_dim, self.config)
        return losses.cloning_loss(self._of_arm(batch), *network.apply({"params": actor}, state))

    def _of_arm(self, batch: Batch) -> jax.Array:
        action: jax.Array = batch["action"]
        return action if self.grasp is None else action[:, : self.arm_dim]

    def with_fresh_optimizers(self) -> SACAgent:
        """As cloning leaves it, for what follows: no moments of it are left, and the target of what
        it trained is that."""
        trained = _together(self.encoder, self.critic)
        return self.replace(
            target_encoder=jax.tree.map(jnp.copy, self.encoder),
            actor_optimizer=adam(self.config.learning_rate).init(self.actor),
            critic_optimizer=adam(self.config.learning_rate).init(trained),
            grasp=None if self.grasp is None else self.grasp.fresh(self.config),
        )

    def _update_temperature(
        self, log_prob: jax.Array, metrics: Metrics
    ) -> tuple[SACAgent, Metrics]:
        target_entropy = self.config.target_entropy_per_dimension * self.arm_dim

        def loss(params: Any) -> jax.Array:
            value = Temperature(self.config.temperature_initial).apply({"params": params})
            return losses.temperature_loss(value, log_prob, target_entropy)

        temperature, optimizer = step(
            self.config.temperature_learning_rate,
            jax.grad(loss)(self.temperature),
            self.temperature_optimizer,
            self.temperature,
        )
        agent = self.replace(temperature=temperature, temperature_optimizer=optimizer)
        return agent, metrics | {"temperature": self.temperature_value()}

    def encode(self, encoder: Any, observation: Any) -> jax.Array:
        """What policy and critics see of observations [B, ...]: float32 [B, I]."""
        state: jax.Array = _encoder(self.config).apply({"params": encoder}, observation)
        return state

    def _sample(self, params: Any, state: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        network = policy_network(self.arm_dim, self.config)
        return tanh_gaussian.sample(key, *network.apply({"params": params}, state))


@partial(jax.jit, static_argnames=("spec", "action_dim", "config"))
def _create(key: jax.Array, spec: Any, action_dim: int, config: SACConfig) -> SACAgent:
    """One program: compiled op by op, a fresh agent takes longer than its update."""
    encoder_key = jax.random.fold_in(key, len("encoder"))
    key, actor_key, critic_key, temperature_key = jax.random.split(key, 4)
    observation = {name: jnp.zeros((1, *shape), dtype) for name, (shape, dtype) in spec}
    state, variables = _encoder(config).init_with_output(encoder_key, observation)
    encoder = variables.get("params", {})
    arm_dim = config.arm_dim(action_dim)
    action = jnp.zeros((1, arm_dim), jnp.float32)
    actor = policy_network(arm_dim, config).init(actor_key, state)["params"]
    critic = init_ensemble(critic_network(config), critic_key, config.critics, state, action)
    temperature = Temperature(config.temperature_initial).init(temperature_key)["params"]
    return SACAgent(
        key=key,
        encoder=encoder,
        target_encoder=jax.tree.map(jnp.copy, encoder),
        actor=actor,
        critic=critic,
        target_critic=jax.tree.map(jnp.copy, critic),
        temperature=temperature,
        actor_optimizer=adam(config.learning_rate).init(actor),
        critic_optimizer=adam(config.learning_rate).init(_together(encoder, critic)),
        temperature_optimizer=adam(config.temperature_learning_rate).init(temperature),
        vice=_create_vice(encoder_key, observation, config),
        grasp=create_grasp(encoder_key, state, observation, config),
        action_dim=action_dim,
        config=config,
    )


def _create_vice(key: jax.Array, observation: Any, config: SACConfig) -> Vice | None:
    if not config.vice.enabled:
        return None
    newest = {name: x[:, -1] for name, x in observation.items() if name.startswith(FEATURES)}
    if not newest:
        raise ValueError("vice needs cameras and a frozen encoder: there are no features to judge")
    return create_vice(jax.random.fold_in(key, 1), newest, config.vice.classifier(config.encoder))


def policy_network(action_dim: int, config: SACConfig) -> GaussianPolicy:
    """The policy head; the actor process builds the same one from the same configuration."""
    return GaussianPolicy(action_dim, config.hidden, config.activation, config.layer_norm)


def _encoder(config: SACConfig) -> ObservationEncoder:
    return ObservationEncoder(config.encoder)


def _together(encoder: Any, critic: Any) -> Any:
    """What the critics' loss trains; without images the critics alone."""
    return {"encoder": encoder, "critic": critic} if encoder else critic


def _apart(trained: Any) -> tuple[Any, Any]:
    """The encoder and the critics of what `_together` made."""
    return (trained["encoder"], trained["critic"]) if isinstance(trained, dict) else ({}, trained)


def critic_network(config: SACConfig) -> Critic:
    """One critic of the ensemble."""
    return Critic(config.hidden, config.activation, config.layer_norm)
