"""Judges critics on episodes that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.agents.sac import SACAgent, critic_network
from serl_learner.frame_ring import look_up
from serl_learner.networks.ensemble import apply_ensemble
from serl_learner.replay import Ring
from serl_learner.types import Record

DRAWS = 8
"""Of next actions and critic subsets that a TD error is averaged over."""


def returns(records: Sequence[Record], discount: float) -> np.ndarray:
    """Discounted return that followed each step of some episodes, [N]; NaN where the episode was
    cut off, so that nobody knows."""
    found: list[float] = []
    for _, group in groupby(records, lambda record: (record.session, record.episode)):
        steps = [record for record in group if not record.last]
        value = 0.0 if steps and steps[-1].terminated else float("nan")
        values = [value := step.reward + discount * value for step in reversed(steps)]
        found += values[::-1]
    return np.array(found)


class HeldOut:
    """Every transition of some episodes, on plain frames."""

    def __init__(self, ring: Ring, records: Sequence[Record], agent: SACAgent) -> None:
        """`ring` holds the transitions of `records` in their order, and nothing else."""
        count = int(ring.size)
        self._batch = _everything(ring, count)
        self._returns = returns(records, agent.config.discount)
        if len(self._returns) != count:
            raise ValueError(f"{len(self._returns)} steps, but {count} transitions are held")
        self._known = np.isfinite(self._returns)
        self._td_error = jax.jit(_td_error)
        self._q = jax.jit(_q)

    def judge(self, agent: SACAgent) -> dict[str, float]:
        """Of an agent that takes feature maps: `td_error`, mean squared, and `q_error`, root mean
        square of ensemble mean minus the return that followed."""
        keys = jax.random.split(jax.random.PRNGKey(0), DRAWS)
        errors = [float(self._td_error(agent.replace(key=key), self._batch)) for key in keys]
        off = np.asarray(self._q(agent, self._batch))[self._known] - self._returns[self._known]
        return {"td_error": float(np.mean(errors)), "q_error": float(np.sqrt(np.mean(off**2)))}


def _everything(ring: Ring, count: int) -> dict[str, Any]:
    """All transitions of a ring that has not wrapped, oldest first."""
    held = jax.tree.map(lambda leaf: leaf[:count], ring.data)
    frames, following = (
        look_up(ring.frames or {}, held.pop(name), None) for name in ("frames", "next_frames")
    )
    held["observation"] = held["observation"] | frames
    held["next_observation"] = held["next_observation"] | following
    return dict(held)


def _td_error(agent: SACAgent, batch: Any) -> jax.Array:
    """What the critics' update would lessen; nothing is updated."""
    return agent.update_critic(batch)[1]["critic_loss"]


def _q(agent: SACAgent, batch: Any) -> jax.Array:
    """Ensemble mean [N]."""
    state = agent.encode(agent.encoder, batch["observation"])
    critic = critic_network(agent.config)
    q: jax.Array = apply_ensemble(critic, agent.critic, state, batch["action"])
    return jnp.mean(q, axis=0)
