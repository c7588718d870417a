"""Update rules against hand-worked numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner import losses

NEXT_Q = jnp.array([[0.5, 0.8], [0.6, 0.2]])
LOG_PROB = jnp.array([-1.0, 2.0])


@pytest.fixture(params=[False, True], ids=["plain", "jitted"])
def td_target(request: pytest.FixtureRequest):
    """The soft Bellman target, jitted and not."""
    return jax.jit(losses.td_target, static_argnums=5) if request.param else losses.td_target


def test_target_equals_the_reward_on_termination(td_target) -> None:
    target = td_target(jnp.array([1.0, -0.3]), jnp.zeros(2), NEXT_Q, LOG_PROB, jnp.float32(0.7))
    np.testing.assert_array_equal(target, np.float32([1.0, -0.3]))


def test_d05_case01_truncation_bootstraps(td_target) -> None:
    # 0.97 * min(0.5, 0.6) and 0.97 * min(0.8, 0.2): the discount of a time limit stays gamma.
    target = td_target(jnp.zeros(2), jnp.full(2, 0.97), NEXT_Q, LOG_PROB, jnp.float32(0.0))
    np.testing.assert_allclose(target, [0.485, 0.194], rtol=1e-6)


def test_d10_entropy_backup_is_masked_by_the_discount(td_target) -> None:
    # 0.9 * (0.5 + 0.1 * 1) = 0.54; a terminal step sees neither value nor entropy.
    target = td_target(jnp.zeros(2), jnp.array([0.9, 0.0]), NEXT_Q, LOG_PROB, jnp.float32(0.1))
    np.testing.assert_allclose(target, [0.54, 0.0], rtol=1e-6)


def test_target_is_clipped_to_the_possible_returns(td_target) -> None:
    target = td_target(
        jnp.array([1.0, -1.0]), jnp.ones(2), NEXT_Q, LOG_PROB, jnp.float32(0.0), (0.0, 1.0)
    )
    np.testing.assert_allclose(target, [1.0, 0.0])


def test_no_gradient_flows_through_the_target() -> None:
    gradient = jax.grad(
        lambda q: losses.td_target(jnp.zeros(2), jnp.ones(2), q, LOG_PROB, jnp.float32(0.1)).sum()
    )(NEXT_Q)
    np.testing.assert_array_equal(gradient, np.zeros((2, 2)))


def test_critic_loss_averages_over_ensemble_and_batch() -> None:
    # (0.5-1)^2, (0.8-0)^2, (0.6-1)^2, (0.2-0)^2 = .25, .64, .16, .04
    assert losses.critic_loss(NEXT_Q, jnp.array([1.0, 0.0])) == pytest.approx(1.09 / 4)


def test_actor_loss_averages_the_ensemble() -> None:
    # mean of 0.1 * log pi = 0.05; mean of Q over ensemble and batch = 0.525
    assert losses.actor_loss(NEXT_Q, LOG_PROB, jnp.float32(0.1)) == pytest.approx(0.05 - 0.525)


@pytest.mark.parametrize(("target_entropy", "sign"), [(-1.0, 1.0), (0.5, -1.0)])
def test_temperature_gradient_has_the_sign_of_the_surplus_of_entropy(
    target_entropy: float, sign: float
) -> None:
    # entropy = -mean(log pi) = -0.5: above -1, so the temperature falls; under 0.5, so it rises.
    gradient = jax.grad(losses.temperature_loss)(jnp.float32(0.1), LOG_PROB, target_entropy)
    assert gradient == pytest.approx(-0.5 - target_entropy)
    assert np.sign(gradient) == sign
