"""The learner's policy fitted to demonstrations and corrections: warm start and HG-DAgger."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from serl_learner.agents.sac import Metrics, SACAgent
from serl_learner.replay import Ring
from serl_learner.updates import critic_steps, draw

AT_ONCE = 50
"""Cloning updates of a warm start between two looks at what else there is to do."""


@dataclass(frozen=True)
class WarmStartConfig:
    """Cloning of the demonstrations before anything else is learned.

    Attributes:
      enabled: off, the policy begins as its seed has it.
      updates: of the policy, on batches of the learner's size.
      demonstrations: successful ones that it waits for; no policy is given out before it is done.
      policy_rests: blocks after it in which only the critics learn. Before they know what the
        policy's actions are worth, they would lead it away from what it was shown.
    """

    enabled: bool = False
    updates: int = 2000
    demonstrations: int = 20
    policy_rests: int = 150

    def __post_init__(self) -> None:
        for name in ("updates", "demonstrations"):
            if getattr(self, name) < 1:
                raise ValueError(f"warm_start.{name} {getattr(self, name)} is below 1")
        if self.policy_rests < 0:
            raise ValueError(f"warm_start.policy_rests {self.policy_rests} is below 0")


class WarmStart:
    """How far the warm start of a learner is; `cloned` counts its updates."""

    def __init__(self, config: WarmStartConfig, batch_size: int) -> None:
        self._config, self._batch_size = config, batch_size
        self.cloned = 0

    def ahead(self, blocks: int) -> bool:
        """Something of it is still to do before the first block: the policy is not ready to act."""
        return self._config.enabled and self.cloned < self._config.updates and not blocks

    def due(self, blocks: int, demonstrations: int) -> bool:
        """And there are as many demonstrations as it was to wait for."""
        return self.ahead(blocks) and demonstrations >= self._config.demonstrations

    def rests(self, blocks: int) -> bool:
        """The policy is as it was cloned, and stays so for this block."""
        return self._config.enabled and blocks < self._config.policy_rests

    def go_on(self, agent: SACAgent, prior: Ring) -> tuple[SACAgent, Metrics]:
        """The next part of it; the argument `agent` is donated."""
        count = min(AT_ONCE, self._config.updates - self.cloned)
        agent, metrics = clone_many(agent, prior, count, self._batch_size)
        self.cloned += count
        whole = self.cloned == self._config.updates
        return (agent.with_fresh_optimizers() if whole else agent), metrics


@partial(jax.jit, static_argnames="batch_size", donate_argnums=0)
def clone_many(
    agent: SACAgent, prior: Ring, count: jax.Array | int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """`count` cloning updates, each on a fresh batch of prior data; metrics are averaged.

    The ring must not be empty. The argument `agent` is donated.
    """

    def step(_: jax.Array, carried: tuple[SACAgent, jax.Array]) -> tuple[SACAgent, jax.Array]:
        agent, total = carried
        agent, batch = draw(agent, prior, prior, batch_size)
        agent, metrics = agent.update_by_cloning(batch)
        return agent, total + metrics["cloning_loss"]

    agent, total = jax.lax.fori_loop(0, count, step, (agent, jnp.float32(0.0)))
    return agent, {"cloning_loss": total / count}


@partial(jax.jit, static_argnames=("utd_ratio", "batch_size"), donate_argnums=0)
def clone_block(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """A block of HG-DAgger (arXiv:1810.02890) in place of one of reinforcement learning: what
    people did, demonstrations and corrections, is imitated; what the policy did is not.

    `utd_ratio` cloning updates; none while there is no prior data. Critics stay as they are.
    """
    return jax.lax.cond(
        prior.size > 0,
        lambda agent: clone_many(agent, prior, utd_ratio, batch_size),
        lambda agent: (agent, {"cloning_loss": jnp.float32(0.0)}),
        agent,
    )


@partial(jax.jit, static_argnames=("utd_ratio", "batch_size"), donate_argnums=0)
def rest_block(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """A block in which the policy rests: `utd_ratio` critic updates, as `update_high_utd` does."""
    return critic_steps(agent, prior, online, utd_ratio, batch_size)
