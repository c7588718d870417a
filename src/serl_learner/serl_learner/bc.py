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

from serl_learner import losses
from serl_learner.agents import policy_params
from serl_learner.agents.adam import adam, step
from serl_learner.agents.config import SACConfig
from serl_learner.agents.grasp import create_grasp, grasp_cloning_loss
from serl_learner.agents.sac import policy_network
from serl_learner.bc_examples import Chosen, Examples, make_examples
from serl_learner.frame_encoder import input_spec
from serl_learner.types import ObservationSpec, Record
from serl_learner.vision.encoder import ObservationEncoder

JUDGED = 256
"""Examples with images that are judged in one call."""


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
      Parameters as of `Policy`; `held_out_loss` and `train_loss` (-log pi, nats, and what a grasp
      critic's cloning loss adds) of them,
      `updates` done in all and `best_update`, after which they were taken.

    Raises:
      ValueError: fewer than two examples, or parameters that became non-finite at once.
    """
    split_key, init_key, batch_key = jax.random.split(key, 3)
    parts = split(records, config.held_out, split_key)
    train, held_out = make_examples(parts, spec, config.policy.encoder)
    params = _init(init_key, spec, action_dim, config.policy)
    state = (params, adam(config.learning_rate).init(params), batch_key)
    best: tuple[float, int, Any] = (np.inf, 0, params)
    done = 0
    while done < config.max_updates and done - best[1] < config.patience * config.evaluation_period:
        state = _train(state, train, config)
        done += config.evaluation_period
        loss = _judge(state[0], held_out, config.policy)
        if loss < best[0]:
            best = (loss, done, state[0])
    if not np.isfinite(best[0]):
        raise ValueError(f"held-out loss is {loss} after {done} updates, never finite")
    return best[2], {
        "held_out_loss": best[0],
        "train_loss": _judge(best[2], train, config.policy),
        "best_update": float(best[1]),
        "updates": float(done),
    }


def split(
    records: Iterable[Record], held_out: float, key: jax.Array
) -> tuple[list[Record], list[Record]]:
    """Records to train on and held-out ones: whole episodes, at least one of each.

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
        [r for (r, _), label in zip(pairs, labels, strict=True) if label not in apart],
        [r for (r, _), label in zip(pairs, labels, strict=True) if label in apart],
    )


def _init(key: jax.Array, spec: ObservationSpec, action_dim: int, config: SACConfig) -> Any:
    """Parameters as of `Policy`."""
    inputs = input_spec(spec, config.encoder)
    observation = {k: jnp.zeros((1, *shape), dtype) for k, (shape, dtype) in inputs.items()}
    encoder = ObservationEncoder(config.encoder)
    state, variables = encoder.init_with_output(jax.random.fold_in(key, 1), observation)
    policy = policy_network(config.arm_dim(action_dim), config).init(key, state)["params"]
    grasp = create_grasp(key, state, observation, config)
    return policy_params.join(variables.get("params", {}), policy, grasp and grasp.params)


def _loss(params: Any, chosen: Chosen, config: SACConfig) -> jax.Array:
    """Mean -log pi(a | o); a grasp critic sees what the encoder makes, but does not train it."""
    observation, actions = chosen
    encoder, policy, grasp = policy_params.split(params)
    state = ObservationEncoder(config.encoder).apply({"params": encoder}, observation)
    arm = config.arm_dim(actions.shape[-1])
    mean, std = policy_network(arm, config).apply({"params": policy}, state)
    value = losses.cloning_loss(actions[:, :arm], mean, std)
    if grasp is None:
        return value
    batch = {"observation": observation, "action": actions}
    return value + grasp_cloning_loss(grasp, jax.lax.stop_gradient(state), batch, config)


_evaluate = jax.jit(_loss, static_argnames="config")


def _judge(params: Any, examples: Examples, config: SACConfig) -> float:
    """Mean -log pi(a | o) of all examples, on plain frames."""
    count = examples.size
    chunk = JUDGED if examples.frames else count
    total = 0.0
    for start in range(0, count, chunk):
        stop = min(start + chunk, count)
        total += float(_evaluate(params, examples.plain(start, stop), config)) * (stop - start)
    return total / count


@partial(jax.jit, static_argnames="config")
def _train(state: Any, examples: Examples, config: BCConfig) -> Any:
    """Updates up to the next look, on batches drawn from `examples`."""

    def update(state: Any, _: None) -> tuple[Any, None]:
        params, moments, key = state
        key, batch_key = jax.random.split(key)
        chosen = examples.drawn(batch_key, config.batch_size, config.policy.encoder)
        gradient = jax.grad(_loss)(params, chosen, config.policy)
        params, moments = step(config.learning_rate, gradient, moments, params)
        return (params, moments, key), None

    return jax.lax.scan(update, state, None, length=config.evaluation_period)[0]
