"""The update as a Python loop over single jitted steps: what the fused one is held against."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from serl_learner.agents.sac import Metrics, SACAgent
from serl_learner.replay import Ring
from serl_learner.updates import actor_step, critic_step

_critic_step = partial(jax.jit, static_argnames="batch_size", donate_argnums=0)(critic_step)
_actor_step = partial(jax.jit, static_argnames="batch_size", donate_argnums=0)(actor_step)


def update_in_loop(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """As `update_high_utd`, one call per step; the argument `agent` is donated."""
    collected = []
    for _ in range(utd_ratio):
        agent, metrics = _critic_step(agent, prior, online, batch_size=batch_size)
        collected.append(metrics)
    agent, actor_metrics = _actor_step(agent, prior, online, batch_size=batch_size)
    means = {name: jnp.mean(jnp.stack([m[name] for m in collected])) for name in collected[0]}
    return agent, means | actor_metrics
