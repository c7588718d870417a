"""The shared encoder is trained by the critics' loss, and by nothing else."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from image_toy import CAMERAS, ENCODERS, agent_config, image_batch
from toy import ACTION_DIM, SMALL, SPEC, same

from serl_learner.agents.sac import SACAgent

ACTOR_PART = ("actor", "temperature", "actor_optimizer", "temperature_optimizer")
CRITIC_PART = ("encoder", "target_encoder", "critic", "target_critic", "critic_optimizer")

update_critic = jax.jit(SACAgent.update_critic)
update_actor = jax.jit(SACAgent.update_actor)


@pytest.fixture(scope="module", params=ENCODERS)
def made(request: pytest.FixtureRequest) -> tuple[SACAgent, Any]:
    """An agent after one full update, and a batch for it."""
    encoder = ENCODERS[request.param]
    batch = image_batch(encoder)
    inputs = {k: (v.shape[1:], v.dtype.name) for k, v in batch["observation"].items()}
    config = agent_config(encoder)
    agent = SACAgent.create(jax.random.PRNGKey(0), inputs, ACTION_DIM, config)
    agent, _ = update_critic(agent, batch)
    return update_actor(agent, batch)[0], batch


def test_d08_actor_update_changes_no_bit_of_the_encoder(made: tuple[SACAgent, Any]) -> None:
    agent, batch = made
    updated, _ = update_actor(agent, batch)
    for part in CRITIC_PART:
        assert same(getattr(updated, part), getattr(agent, part)), part
    for part in ACTOR_PART:
        assert not same(getattr(updated, part), getattr(agent, part)), part


def test_d08_case13_critic_update_trains_the_encoder_and_changes_no_bit_of_the_actor(
    made: tuple[SACAgent, Any],
) -> None:
    agent, batch = made
    updated, _ = update_critic(agent, batch)
    for part in ACTOR_PART:
        assert same(getattr(updated, part), getattr(agent, part)), part
    for part in CRITIC_PART:
        assert not same(getattr(updated, part), getattr(agent, part)), part
    for leaf, old in zip(
        jax.tree.leaves(updated.encoder), jax.tree.leaves(agent.encoder), strict=True
    ):
        assert not np.array_equal(leaf, old), "a parameter that no gradient reaches"


def test_the_target_encoder_follows_by_the_polyak_factor(made: tuple[SACAgent, Any]) -> None:
    agent, batch = made
    updated, _ = update_critic(agent, batch)
    expected = jax.tree.map(
        lambda new, old: 0.005 * np.float64(new) + 0.995 * np.float64(old),
        updated.encoder,
        agent.target_encoder,
    )
    pairs = zip(jax.tree.leaves(updated.target_encoder), jax.tree.leaves(expected), strict=True)
    for leaf, other in pairs:
        np.testing.assert_allclose(leaf, other, rtol=1e-5, atol=1e-7)


def test_the_target_is_of_the_target_encoder_the_next_action_of_the_online_one(
    made: tuple[SACAgent, Any],
) -> None:
    agent, batch = made
    _, metrics = update_critic(agent, batch)
    moved = jax.tree.map(lambda leaf: leaf + 0.5, agent.target_encoder)
    _, others = update_critic(agent.replace(target_encoder=moved), batch)
    assert float(metrics["target"]) != float(others["target"])
    assert float(metrics["q"]) == float(others["q"])
    alike = jax.tree.map(lambda leaf: leaf + 0.5, agent.encoder)
    _, others = update_critic(agent.replace(encoder=alike), batch)
    assert float(metrics["target"]) != float(others["target"])  # by its action
    assert float(metrics["q"]) != float(others["q"])


def test_terminal_transitions_see_nothing_of_the_next_images(made: tuple[SACAgent, Any]) -> None:
    agent, batch = made
    batch = batch | {"terminated": np.ones_like(batch["terminated"])}
    blank = {key: np.zeros_like(value) for key, value in batch["next_observation"].items()}
    first, _ = update_critic(agent, batch)
    second, _ = update_critic(agent, batch | {"next_observation": blank})
    assert same(first.encoder, second.encoder)


def test_every_camera_is_seen_by_policy_and_critics(made: tuple[SACAgent, Any]) -> None:
    agent, batch = made
    prefix = "features" if agent.config.encoder.frozen else "image"
    seen = agent.encode(agent.encoder, batch["observation"])
    for camera in CAMERAS:
        name = f"{prefix}/{camera}"
        hidden = {name: np.zeros_like(batch["observation"][name])}
        other = agent.encode(agent.encoder, batch["observation"] | hidden)
        assert not np.allclose(seen, other)


def test_without_images_there_is_no_encoder_and_the_tree_is_what_it_was() -> None:
    agent = SACAgent.create(jax.random.PRNGKey(0), SPEC, ACTION_DIM, SMALL)
    assert agent.encoder == agent.target_encoder == {}
    assert agent.policy_params() is agent.actor
    moments = agent.critic_optimizer[0].mu
    assert jax.tree.structure(moments) == jax.tree.structure(agent.critic)
