"""What one update of the agent changes, and what it must leave alone."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, SPEC, random_batch, same

from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.networks.state_vector import state_vector

ACTOR_PART = ("actor", "temperature", "actor_optimizer", "temperature_optimizer")
CRITIC_PART = ("critic", "target_critic", "critic_optimizer")

UNCLIPPED = replace(SMALL, target_clip=False)

update_critic = jax.jit(SACAgent.update_critic)
update_actor = jax.jit(SACAgent.update_actor)


def create() -> SACAgent:
    """A small agent that has made one full update, so that no Adam moment is zero."""
    fresh = jax.jit(lambda key: SACAgent.create(key, SPEC, ACTION_DIM, SMALL))
    agent, _ = update_critic(fresh(jax.random.PRNGKey(0)), random_batch())
    return update_actor(agent, random_batch())[0]


@pytest.fixture(scope="module")
def agent() -> SACAgent:
    """An agent in training."""
    return create()


def test_d06_case13_critic_updates_leave_actor_and_temperature_bit_identical(
    agent: SACAgent,
) -> None:
    updated = agent
    for seed in range(3):
        updated, _ = update_critic(updated, random_batch(seed=seed))
    for part in ACTOR_PART:
        assert same(getattr(updated, part), getattr(agent, part)), part
    for part in CRITIC_PART:
        assert not same(getattr(updated, part), getattr(agent, part)), part


def test_d06_actor_update_leaves_the_critics_bit_identical(agent: SACAgent) -> None:
    updated, _ = update_actor(agent, random_batch())
    for part in CRITIC_PART:
        assert same(getattr(updated, part), getattr(agent, part)), part
    for part in ACTOR_PART:
        assert not same(getattr(updated, part), getattr(agent, part)), part


def test_d39_every_optimizer_holds_moments_of_its_own_network_only(agent: SACAgent) -> None:
    def size(tree: object) -> int:
        return sum(np.size(leaf) for leaf in jax.tree.leaves(tree))

    for network in ("actor", "critic", "temperature"):
        moments = size(getattr(agent, f"{network}_optimizer")) - 1  # without Adam's step count
        assert moments == 2 * size(getattr(agent, network)), network


def test_every_update_draws_from_a_new_key(agent: SACAgent) -> None:
    updated, _ = update_critic(agent, random_batch())
    again, _ = update_actor(updated, random_batch())
    keys = {tuple(np.asarray(a.key).tolist()) for a in (agent, updated, again)}
    assert len(keys) == 3


def test_target_critics_follow_by_the_polyak_factor(agent: SACAgent) -> None:
    updated, _ = update_critic(agent, random_batch())
    expected = jax.tree.map(
        lambda new, old: 0.005 * np.float64(new) + 0.995 * np.float64(old),
        updated.critic,
        agent.target_critic,
    )
    for leaf, other in zip(
        jax.tree.leaves(updated.target_critic), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(leaf, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("entropy_backup", [False, True])
def test_d05_d10_case01_terminal_targets_are_the_reward(
    agent: SACAgent, entropy_backup: bool
) -> None:
    agent = agent.replace(config=replace(UNCLIPPED, entropy_backup=entropy_backup))
    batch = random_batch()
    terminal = batch | {"terminated": np.ones(8, bool)}
    _, metrics = update_critic(agent, terminal)
    assert metrics["target"] == pytest.approx(batch["reward"].mean(), rel=1e-6)
    truncated = batch | {"terminated": np.zeros(8, bool)}
    _, metrics = update_critic(agent, truncated)
    assert metrics["target"] != pytest.approx(batch["reward"].mean(), rel=1e-3)


def test_d10_entropy_enters_the_backup_only_when_asked_for(agent: SACAgent) -> None:
    plain = agent.replace(config=UNCLIPPED)
    backup = agent.replace(config=replace(UNCLIPPED, entropy_backup=True))
    batch = random_batch() | {"terminated": np.zeros(8, bool)}
    without, entropy = update_critic(plain, batch)[1]["target"], -_next_log_prob(agent, batch)
    expected = without + SMALL.discount * agent.temperature_value() * entropy.mean()
    assert update_critic(backup, batch)[1]["target"] == pytest.approx(expected, rel=1e-4)


def _next_log_prob(agent: SACAgent, batch: dict) -> jax.Array:
    """What update_critic draws for this key."""
    _, next_key, _ = jax.random.split(agent.key, 3)
    return agent._sample(agent.actor, state_vector(batch["next_observation"]), next_key)[1]


def test_no_leaf_is_weakly_typed() -> None:
    # A weakly typed leaf in the first state would compile the update twice.
    def create_and_update(key: jax.Array) -> tuple[SACAgent, SACAgent]:
        fresh = SACAgent.create(key, SPEC, ACTION_DIM, SMALL)
        return fresh, fresh.update_critic(random_batch())[0].update_actor(random_batch())[0]

    shapes = jax.eval_shape(create_and_update, jax.random.PRNGKey(0))
    assert len(jax.tree.leaves(shapes)) > 100
    assert not [leaf for leaf in jax.tree.leaves(shapes) if leaf.weak_type]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"critic_subset": 11}, "critic_subset 11"),
        ({"critic_subset": 0}, "critic_subset 0"),
        ({"discount": 1.0}, "discount 1.0"),
        ({"polyak": 0.0}, "polyak 0.0"),
    ],
)
def test_bad_configuration_is_named(bad: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SACConfig(**bad)
