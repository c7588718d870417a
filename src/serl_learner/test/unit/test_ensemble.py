"""Independence of the critics and the draw of the target subset."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner.networks.ensemble import apply_ensemble, init_ensemble, subset
from serl_learner.networks.heads import Critic

SIZE = 5
NETWORK = Critic((8,))
STATE, ACTION = jnp.ones((4, 3)), jnp.full((4, 2), 0.5)


@pytest.fixture(scope="module")
def members() -> tuple:
    """Five small critics."""
    init = jax.jit(lambda key: init_ensemble(NETWORK, key, SIZE, STATE, ACTION))
    return init(jax.random.PRNGKey(0))


def test_d07_every_critic_has_a_head_of_its_own(members: tuple) -> None:
    heads = [np.asarray(member["Dense_0"]["kernel"]) for member in members]
    assert all(head.shape == (8, 1) for head in heads)
    assert len({head.tobytes() for head in heads}) == SIZE
    assert len(np.unique(apply_ensemble(NETWORK, members, STATE, ACTION)[:, 0])) == SIZE


def test_d07_gradient_of_one_critic_touches_no_other(members: tuple) -> None:
    third = jax.jit(jax.grad(lambda m: apply_ensemble(NETWORK, m, STATE, ACTION)[2].sum()))
    gradient = third(members)
    touched = [any(np.any(leaf) for leaf in jax.tree.leaves(member)) for member in gradient]
    assert touched == [False, False, True, False, False]


def test_ensemble_is_its_members_stacked(members: tuple) -> None:
    values = apply_ensemble(NETWORK, members, STATE, ACTION)
    assert values.shape == (SIZE, 4)
    for member, value in zip(members, values, strict=True):
        alone = NETWORK.apply({"params": member}, STATE, ACTION)
        np.testing.assert_allclose(alone, value, rtol=1e-5)  # members are compiled, this is not


def test_d09_subset_never_holds_a_critic_twice() -> None:
    numbered = tuple({"number": jnp.float32(i)} for i in range(SIZE))
    draw = jax.jit(jax.vmap(lambda key: jnp.stack([m["number"] for m in subset(numbered, key, 2)])))
    drawn = np.asarray(draw(jax.random.split(jax.random.PRNGKey(0), 4000)))
    assert not np.any(drawn[:, 0] == drawn[:, 1])
    # Uniform: each of the ten pairs 400 times in the mean, standard deviation 19.
    pairs = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
    assert len(pairs[0]) == 10
    assert np.all(np.abs(pairs[1] - 400) < 100)


def test_subset_of_all_is_all(members: tuple) -> None:
    assert subset(members, jax.random.PRNGKey(0), SIZE) is members


def test_subset_members_are_members_unchanged(members: tuple) -> None:
    known = {np.asarray(m["Dense_0"]["kernel"]).tobytes() for m in members}
    for seed in range(10):
        for member in subset(members, jax.random.PRNGKey(seed), 3):
            assert np.asarray(member["Dense_0"]["kernel"]).tobytes() in known
