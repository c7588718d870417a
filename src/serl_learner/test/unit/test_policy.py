"""The actor's policy is the learner's, and says when the two would not fit."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, SPEC, record

from serl_learner.agents.sac import SACAgent
from serl_learner.networks.state_vector import state_size, state_vector
from serl_learner.policy import Policy


@pytest.fixture(scope="module")
def policy() -> Policy:
    """The actor's side."""
    return Policy(SPEC, ACTION_DIM, SMALL)


@pytest.fixture(scope="module")
def agent() -> SACAgent:
    """The learner's side, from another seed than the policy's template."""
    create = jax.jit(lambda key: SACAgent.create(key, SPEC, ACTION_DIM, SMALL))
    return create(jax.random.PRNGKey(11))


OBSERVATION = {"state/b": np.float32([0.3]), "state/a": np.float32([-0.5, 0.8])}


def test_policy_draws_what_the_agent_draws(policy: Policy, agent: SACAgent) -> None:
    key = jax.random.PRNGKey(5)
    state = state_vector({k: v[None] for k, v in OBSERVATION.items()})
    expected, _ = agent._sample(agent.actor, state, key)
    drawn = policy.sample(agent.actor, OBSERVATION, key)
    assert drawn.shape == (ACTION_DIM,)
    # The policy draws for a batch of one, as the agent does here.
    np.testing.assert_allclose(drawn, expected[0], rtol=1e-5)


def test_mode_is_the_centre_of_the_samples(policy: Policy, agent: SACAgent) -> None:
    keys = jax.random.split(jax.random.PRNGKey(0), 400)
    drawn = np.array([policy.sample(agent.actor, OBSERVATION, key) for key in keys])
    mode = policy.mode(agent.actor, OBSERVATION)
    np.testing.assert_allclose(np.median(drawn, axis=0), mode, atol=0.2)
    np.testing.assert_array_equal(policy.mode(agent.actor, OBSERVATION), mode)


def test_actions_are_inside_the_limits(policy: Policy, agent: SACAgent) -> None:
    far = {key: value * 1e6 for key, value in OBSERVATION.items()}
    assert np.all(np.abs(policy.sample(agent.actor, far, jax.random.PRNGKey(0))) <= 1.0)


def test_case02_what_is_not_finite_is_handed_on_for_the_caller_to_see(
    policy: Policy, agent: SACAgent
) -> None:
    broken = jax.tree.map(lambda leaf: np.full(leaf.shape, np.nan, np.float32), agent.actor)
    assert not np.any(np.isfinite(policy.mode(broken, OBSERVATION)))


def test_order_of_the_keys_does_not_matter() -> None:
    batch = {k: v[None] for k, v in OBSERVATION.items()}
    turned = dict(reversed(batch.items()))
    np.testing.assert_array_equal(state_vector(batch), state_vector(turned))
    np.testing.assert_allclose(state_vector(batch)[0], [-0.5, 0.8, 0.3])  # a, then b
    assert state_size(SPEC) == 3


def test_only_state_keys_reach_the_heads() -> None:
    batch = {k: v[None] for k, v in record(5).observation.items()}
    image = {"image/wrist_1": np.zeros((1, 4, 4, 3), np.uint8)}
    np.testing.assert_array_equal(state_vector(batch | image), state_vector(batch))


def test_layout_hash_differs_where_parameters_would_not_fit(policy: Policy) -> None:
    others = [
        Policy(SPEC, ACTION_DIM, replace(SMALL, hidden=(9,))),
        Policy(SPEC, ACTION_DIM, replace(SMALL, hidden=(8, 8))),
        Policy(SPEC, ACTION_DIM, replace(SMALL, activation="relu")),
        Policy(SPEC, ACTION_DIM, replace(SMALL, layer_norm=False)),
        Policy(SPEC, ACTION_DIM + 1, SMALL),
        # The same sizes under another name: the state vector has another order.
        Policy({"state/a": ((1,), "float32"), "state/b": ((2,), "float32")}, ACTION_DIM, SMALL),
    ]
    assert len({policy.layout_hash, *(other.layout_hash for other in others)}) == 7


def test_layout_hash_does_not_depend_on_how_training_is_set(policy: Policy) -> None:
    other = replace(SMALL, learning_rate=1e-3, critics=2, discount=0.9)
    turned = dict(reversed(SPEC.items()))
    assert Policy(turned, ACTION_DIM, other).layout_hash == policy.layout_hash
