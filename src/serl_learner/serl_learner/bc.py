"""Behaviour cloning: the policy network fitted to demonstrated actions.

The baseline that a learned policy has to beat: same network, same observations, trained until
the likelihood of held-out demonstrations no longer rises.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from serl_learner import tanh_gaussian
from serl_learner.agents.sac import SACConfig, policy_network
from serl_learner.networks.heads import GaussianPolicy
from serl_learner.networks.state_vector import state_size, state_vector
from serl_learner.types import ObservationSpec, Record

Examples = tuple[jax.Array, jax.Array]
"""State vectors [N, I] and the actions taken there [N, A]."""


@dataclass(frozen=True)
class BCConfig:
    """How long and how fast to clone.

    Attributes:
      policy: of the policy network, as of the agent that the clone is compared with.
      learning_rate: of Adam.
      batch_size: examples per update, drawn with replacement.
      held_out: share of the episodes that only judge, > 0 and < 1.
      evaluation_period: updates between two looks at the held-out loss.
      patience: looks without a better held-out loss before it ends.
      max_updates: at most.
    """

    policy: SACConfig = field(default_factory=SACConfig)
    learning_rate: float = 3e-4
    batch_size: int = 256
    held_out: float = 0.1
    evaluation_period: int = 100
    patience: int = 20
    max_updates: int = 30_000

    def __post_init__(self) -> None:
        if not 0.0 < self.held_out < 1.0:
            raise ValueError(f"held_out {self.held_out} is not in (0, 1)")
        for name in ("batch_size", "evaluation_period", "patience", "max_updates"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")


def clone(
    records: Iterable[Record],
    spec: ObservationSpec,
    action_dim: int,
    config: BCConfig,
    key: jax.Array,
) -> tuple[Any, dict[str, float]]:
    """Policy parameters that imitate `records`, those of the least held-out loss.

    Args:
      records: of demonstrations, in any order; those without an action are left out.
      key: of the split, the initial parameters and the batches.

    Returns:
      Parameters as of `Policy`; `held_out_loss` and `train_loss` (-log pi, nats) of them,
      `updates` done in all and `best_update`, after which they were taken.

    Raises:
      ValueError: fewer than two examples, or parameters that became non-finite at once.
    """
    split_key, init_key, batch_key = jax.random.split(key, 3)
    train, held_out = split(records, config.held_out, split_key)
    network = policy_network(action_dim, config.policy)
    params = network.init(init_key, jnp.zeros((1, state_size(spec)), jnp.float32))["params"]
    state = (params, optax.adam(config.learning_rate).init(params), batch_key)
    how = (config.learning_rate, config.batch_size, config.evaluation_period)
    best: tuple[float, int, Any] = (np.inf, 0, params)
    done = 0
    while done < config.max_updates and done - best[1] < config.patience * config.evaluation_period:
        state = _train(state, train, network, *how)
        done += config.evaluation_period
        loss = float(_evaluate(state[0], held_out, network))
        if loss < best[0]:
            best = (loss, done, state[0])
    if not np.isfinite(best[0]):
        raise ValueError(f"held-out loss is {loss} after {done} updates, never finite")
    return best[2], {
        "held_out_loss": best[0],
        "train_loss": float(_evaluate(best[2], train, network)),
        "best_update": float(best[1]),
        "updates": float(done),
    }


def split(records: Iterable[Record], held_out: float, key: jax.Array) -> tuple[Examples, Examples]:
    """Examples to train on and held-out ones: whole episodes, at least one of each.

    A single episode is split by its records.
    """
    pairs = [(r, (r.session, r.episode)) for r in records if r.action is not None]
    labels: list[Any] = [group for _, group in pairs]
    groups = sorted(set(labels))
    if len(groups) == 1:
        labels = groups = list(range(len(pairs)))
    if len(groups) < 2:
        raise ValueError(f"{len(pairs)} examples cannot be split into training and held-out ones")
    count = min(len(groups) - 1, max(1, round(held_out * len(groups))))
    order = np.asarray(jax.random.permutation(key, len(groups)))
    apart = {groups[i] for i in order[:count]}
    return (
        _examples([r for (r, _), label in zip(pairs, labels, strict=True) if label not in apart]),
        _examples([r for (r, _), label in zip(pairs, labels, strict=True) if label in apart]),
    )


def _examples(records: list[Record]) -> Examples:
    keys = records[0].observation.keys()
    states = state_vector({k: np.stack([r.observation[k] for r in records]) for k in keys})
    actions = np.stack([r.action for r in records if r.action is not None])
    return states, jnp.asarray(actions, jnp.float32)


def _loss(params: Any, examples: Examples, network: GaussianPolicy) -> jax.Array:
    """Mean -log pi(a | o)."""
    states, actions = examples
    mean, std = network.apply({"params": params}, states)
    return -tanh_gaussian.log_prob(actions, mean, std).mean()


_evaluate = jax.jit(_loss, static_argnames="network")


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _train(
    state: Any,
    examples: Examples,
    network: GaussianPolicy,
    learning_rate: float,
    batch_size: int,
    updates: int,
) -> Any:
    """`updates` updates on batches drawn from `examples`."""
    optimizer = optax.adam(learning_rate)

    def update(state: Any, _: None) -> tuple[Any, None]:
        params, moments, key = state
        key, batch_key = jax.random.split(key)
        index = jax.random.randint(batch_key, (batch_size,), 0, len(examples[0]))
        batch = (examples[0][index], examples[1][index])
        gradient = jax.grad(_loss)(params, batch, network)
        change, moments = optimizer.update(gradient, moments, params)
        return (optax.apply_updates(params, change), moments, key), None

    return jax.lax.scan(update, state, None, length=updates)[0]
