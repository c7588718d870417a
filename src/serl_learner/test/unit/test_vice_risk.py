"""What VICE's classifier minimises, by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner.rewards import risk

KEY = jax.random.PRNGKey(0)


def test_labels_are_smoothed_as_published():
    np.testing.assert_allclose(risk.smooth(jnp.array([1.0, 0.0]), 0.2), [0.9, 0.1], rtol=1e-6)


def test_d13_all_cameras_are_mixed_with_the_same_frame():
    """Every frame says its own number, so a mixture tells what went into it."""
    number = jnp.arange(8.0)
    maps = jnp.broadcast_to(number[:, None, None, None], (8, 2, 2, 1))
    mixed = risk.mix(KEY, {"features/side": maps, "features/wrist": 10 * maps}, 1.0)
    np.testing.assert_allclose(10 * mixed["features/side"], mixed["features/wrist"], rtol=1e-6)
    assert not np.allclose(mixed["features/side"][:, 0, 0, 0], number)


def test_without_mixup_nothing_is_mixed():
    features = {"features/side": jnp.ones((2, 1, 1, 1), jnp.float16)}
    mixed = risk.mix(KEY, features, 0.0)
    np.testing.assert_array_equal(mixed["features/side"], features["features/side"])


def logit(*probabilities):
    p = jnp.array(probabilities)
    return jnp.log(p / (1.0 - p))


PLAIN = {"label_smoothing": 0.0, "prior": 0.2}


def test_risk_by_hand():
    """As "not solved" goals said to be with 3/4 cost log 4, the two others log 2, and the two on
    which a success was called 1.5 log 2, of which 0.2 log 4 may be for solved ones."""
    goal, others, called = logit(0.75), logit(0.5, 0.5), logit(0.5, 0.75)
    rest = (2 * np.log(2) + 2 * (1.5 * np.log(2) - 0.2 * np.log(4))) / 4
    found = risk.risk(goal, others, called, 2, **PLAIN)
    np.testing.assert_allclose(found, 0.5 * (np.log(4 / 3) + rest), rtol=1e-6)


@pytest.mark.parametrize("called", [logit(), logit(0.99)])
def test_risk_by_hand_while_no_success_was_called(called):
    found = risk.risk(logit(0.75), logit(0.5), called, 0, **PLAIN)
    np.testing.assert_allclose(found, 0.5 * (np.log(4 / 3) + np.log(2)), rtol=1e-6)


@pytest.mark.parametrize(("prior", "pulled"), [(0.2, False), (0.0, True)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_a_share_of_what_was_called_may_be_solved_at_no_cost(prior, pulled, smoothing):
    """One of ten is as goals are, which is below `prior`: nothing pulls it down then."""
    goal, others = logit(0.9, 0.9), logit(0.1)
    called = logit(0.9, *[0.5 * smoothing + 1e-6] * 9)
    slope = jax.grad(lambda x: risk.risk(goal, others, x, 10, smoothing, prior))(called)
    assert (slope[0] > 1e-3) == pulled
    assert pulled or np.all(slope == 0.0)


def test_a_perfect_classifier_costs_what_smoothing_leaves():
    found = risk.risk(logit(0.9), logit(0.1), logit(0.1, 0.1), 2, 0.2, 0.1)
    least = -(0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    np.testing.assert_allclose(found, least, rtol=1e-6)


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 0.0), (3.0, 4.0), (0.0, 1.0)])
def test_gradient_penalty_of_a_linear_logit(slope, expected):
    """Weights `slope` in all over 4 + 4 features of two cameras: |gradient| = slope."""
    features = {name: jnp.ones((4, 2, 2, 1)) for name in ("features/side", "features/wrist")}
    weight = slope / np.sqrt(8.0)

    def logit(x):
        return weight * sum(jnp.sum(maps, axis=(1, 2, 3)) for maps in x.values())

    found = risk.gradient_penalty(KEY, logit, features)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
