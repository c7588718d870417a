"""Many updates in one call: replay sampling and agent updates fused in one jitted scan."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from serl_learner.agents.sac import Metrics, SACAgent
from serl_learner.replay import Ring, sample_mixed


@partial(jax.jit, static_argnames=("utd_ratio", "batch_size"), donate_argnums=0)
def update_high_utd(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """`utd_ratio` critic updates, each on a fresh batch, then one of policy and temperature.

    Every batch is half prior data, half online (RLPD, arXiv:2302.02948, algorithm 1). Metrics
    are averaged over the critic updates. The argument `agent` is donated.
    """

    def step(agent: SACAgent, _: None) -> tuple[SACAgent, Metrics]:
        return critic_step(agent, prior, online, batch_size)

    agent, metrics = jax.lax.scan(step, agent, None, length=utd_ratio)
    agent, actor_metrics = actor_step(agent, prior, online, batch_size)
    return agent, jax.tree.map(jnp.mean, metrics) | actor_metrics


def critic_step(
    agent: SACAgent, prior: Ring, online: Ring, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """One update of the critics on a fresh batch."""
    key, sample_key = jax.random.split(agent.key)
    batch = sample_mixed(prior, online, sample_key, batch_size)
    return agent.replace(key=key).update_critic(batch)


def actor_step(
    agent: SACAgent, prior: Ring, online: Ring, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """One update of policy and temperature on a fresh batch."""
    key, sample_key = jax.random.split(agent.key)
    batch = sample_mixed(prior, online, sample_key, batch_size)
    return agent.replace(key=key).update_actor(batch)
