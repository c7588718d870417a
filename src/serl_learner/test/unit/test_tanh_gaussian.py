"""The squashed Gaussian against numerical integration and its closed form."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner import tanh_gaussian

MEAN, STD = jnp.array([0.3, -0.8]), jnp.array([0.5, 1.2])


def closed_form(action: np.ndarray) -> float:
    """log N(atanh a; mean, std) - sum log(1 - a^2) in double precision."""
    mean, std = np.float64(MEAN), np.float64(STD)
    raw = np.arctanh(np.float64(action))
    log_normal = -0.5 * ((raw - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
    return float(np.sum(log_normal - np.log(1 - np.float64(action) ** 2)))


@pytest.mark.parametrize("action", [(0.0, 0.0), (0.9, -0.2), (-0.999, 0.999)])
def test_log_prob_equals_the_closed_form(action: tuple[float, float]) -> None:
    value = tanh_gaussian.log_prob(jnp.array(action), MEAN, STD)
    assert value == pytest.approx(closed_form(np.array(action, np.float32)), rel=1e-4)


def test_density_integrates_to_one() -> None:
    grid = np.linspace(-0.9999, 0.9999, 20001, dtype=np.float32)[:, None]
    density = np.exp(tanh_gaussian.log_prob(grid, MEAN[:1], STD[:1]))
    assert np.trapezoid(density, grid[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_sample_tells_the_density_of_what_it_drew() -> None:
    action, log_prob = tanh_gaussian.sample(
        jax.random.PRNGKey(1), jnp.tile(MEAN, (256, 1)), jnp.tile(STD, (256, 1))
    )
    inside = np.abs(action).max(axis=-1) < 0.999
    assert inside.sum() > 200
    expected = tanh_gaussian.log_prob(action, MEAN, STD)
    np.testing.assert_allclose(log_prob[inside], expected[inside], rtol=1e-3, atol=1e-3)


def test_log_prob_is_finite_far_out_and_at_the_limits() -> None:
    _, log_prob = tanh_gaussian.sample(
        jax.random.PRNGKey(0), jnp.array([200.0, -200.0]), jnp.ones(2)
    )
    assert np.isfinite(log_prob)
    assert np.isfinite(tanh_gaussian.log_prob(jnp.array([1.0, -1.0]), MEAN, STD))


def test_jitted_equals_unjitted() -> None:
    key = jax.random.PRNGKey(3)
    plain = tanh_gaussian.sample(key, MEAN, STD)
    jitted = jax.jit(tanh_gaussian.sample)(key, MEAN, STD)
    np.testing.assert_allclose(plain[0], jitted[0], rtol=1e-6)
    np.testing.assert_allclose(plain[1], jitted[1], rtol=1e-5)


def test_mode_is_the_squashed_mean() -> None:
    np.testing.assert_allclose(tanh_gaussian.mode(MEAN), np.tanh(np.float64(MEAN)), rtol=1e-6)
