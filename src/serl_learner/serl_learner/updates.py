"""Many updates in one call: replay sampling and agent updates fused in one jitted scan."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import optax

from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import Metrics, SACAgent
from serl_learner.replay import Ring, Transition, called_frames, sample_following, sample_mixed
from serl_learner.rewards import goals, vice
from serl_learner.rewards.vice import Features, Vice
from serl_learner.vision.augment import augment
from serl_learner.vision.cameras import cameras


@partial(jax.jit, static_argnames=("utd_ratio", "batch_size"), donate_argnums=0)
def update_high_utd(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """`utd_ratio` critic updates, each on a fresh batch, then one of policy and temperature.

    Every batch is half prior data, half online (RLPD, arXiv:2302.02948, algorithm 1). Metrics
    are averaged over the critic updates. The argument `agent` is donated.
    """

    agent, metrics = critic_steps(agent, prior, online, utd_ratio, batch_size)
    agent, actor_metrics = actor_step(agent, prior, online, batch_size)
    return agent, metrics | actor_metrics


def critic_steps(
    agent: SACAgent, prior: Ring, online: Ring, utd_ratio: int, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """`utd_ratio` updates of the critics, each on a fresh batch; metrics are averaged."""

    def step(agent: SACAgent, _: None) -> tuple[SACAgent, Metrics]:
        return critic_step(agent, prior, online, batch_size)

    agent, metrics = jax.lax.scan(step, agent, None, length=utd_ratio)
    return agent, jax.tree.map(jnp.mean, metrics)


def critic_step(
    agent: SACAgent, prior: Ring, online: Ring, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """One update of the critics on a fresh batch; with imitation, of a grasp critic on one of
    prior data as well, as long as there is any."""
    agent, batch = draw(agent, prior, online, batch_size)
    if not (agent.config.imitation.enabled and agent.config.grasp.enabled):
        return agent.update_critic(batch)
    agent, shown = draw(agent, prior, prior, batch_size)
    return agent.update_critic(batch, shown, _imitation_weight(agent, prior))


def actor_step(
    agent: SACAgent, prior: Ring, online: Ring, batch_size: int
) -> tuple[SACAgent, Metrics]:
    """One update of policy and temperature on a fresh batch; with imitation, on one of prior data
    as well, as long as there is any."""
    agent, batch = draw(agent, prior, online, batch_size)
    if not agent.config.imitation.enabled:
        return agent.update_actor(batch)
    agent, shown = draw(agent, prior, prior, batch_size)
    return agent.update_actor(batch, shown, _imitation_weight(agent, prior))


def _imitation_weight(agent: SACAgent, prior: Ring) -> jax.Array:
    """Of the cloning loss now; nothing while nothing was shown."""
    imitation = agent.config.imitation
    done = optax.tree_utils.tree_get(agent.actor_optimizer, "count")
    weight = imitation.weight * 0.5 ** (done / imitation.half_life)
    return jnp.where(prior.size > 0, weight, 0.0)


def draw(
    agent: SACAgent, prior: Ring, online: Ring, batch_size: int
) -> tuple[SACAgent, Transition]:
    """A fresh batch; raw images in it are augmented, those of o and o' independently (DrQ).

    With VICE the rewards in it are those of the classifier as it is now.
    """
    key, sample_key = jax.random.split(agent.key)
    batch = dict(sample_mixed(prior, online, sample_key, batch_size))
    if cameras(batch["observation"]):
        keys = jax.random.split(jax.random.fold_in(sample_key, 1))
        for name, augment_key in zip(("observation", "next_observation"), keys, strict=True):
            batch[name] = augment(augment_key, batch[name], agent.config.encoder)
    if agent.vice is not None:
        config = agent.config
        classifier = config.vice.classifier(config.encoder)
        batch = vice.rewarded(agent.vice, batch, config.vice, classifier)
    return agent.replace(key=key), batch


@partial(jax.jit, static_argnames="config", donate_argnums=0)
def update_vice(
    state: Vice, shown: Features, others: Features, online: Ring, config: SACConfig
) -> tuple[Vice, Metrics]:
    """Trains the classifier, `updates` times, on goals against what the actors came to; `shown`
    and `others` are features of the labelled frames' crops, [N, K, h, w, c]."""
    labelled, frames = goals.Labelled(shown, others), called_frames(online)

    def came_to(key: jax.Array, count: int, called: bool) -> tuple[Features, jax.Array]:
        return sample_following(online, key, count, frames if called else ~frames)

    return goals.train(state, labelled, config.vice, config.encoder, config.vice.updates, came_to)
