"""The ring: what it keeps, how much, and how the two rings are mixed."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from toy import ACTION_DIM, SPEC, contents, record, same, transition

from serl_learner.replay import (
    Ring,
    create_ring,
    insert,
    sample,
    sample_mixed,
    transition_bytes,
)
from serl_learner.replay_half import ReplayHalf

ITEM = transition_bytes(SPEC, ACTION_DIM)

mixed = jax.jit(sample_mixed, static_argnames="batch")


def filled(count: int, capacity: int = 5, first: int = 0) -> Ring:
    """A ring into which the transitions first, first + 1, ... went."""
    ring = create_ring(SPEC, ACTION_DIM, capacity * ITEM)
    for number in range(first, first + count):
        ring = insert(ring, transition(number))
    return ring


def rewards(batch: dict) -> list[int]:
    """The numbers of the transitions in a batch."""
    return [round(1000 * float(reward)) for reward in batch["reward"]]


def test_a_transition_takes_the_bytes_of_its_tensors() -> None:
    # 3 + 3 observation and 2 action values, one reward: 9 float32; one flag.
    assert ITEM == 9 * 4 + 1


@pytest.mark.parametrize(("extra", "capacity"), [(0, 5), (ITEM - 1, 5), (ITEM, 6)])
def test_capacity_is_what_the_bytes_allow(extra: int, capacity: int) -> None:
    ring = create_ring(SPEC, ACTION_DIM, 5 * ITEM + extra)
    assert ring.capacity == capacity
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(ring.data)) == capacity * ITEM


def test_too_little_capacity_names_both_sizes() -> None:
    with pytest.raises(ValueError, match=f"{ITEM - 1} bytes is below one transition.*{ITEM}"):
        create_ring(SPEC, ACTION_DIM, ITEM - 1)


@pytest.mark.parametrize("count", [1, 4, 5, 6, 13])
def test_the_newest_are_kept_whole_when_it_wraps(count: int) -> None:
    stored = contents(filled(count))
    kept = range(max(0, count - 5), count)
    assert sorted(rewards(stored)) == list(kept)
    for row, number in enumerate(rewards(stored)):
        assert same(jax.tree.map(lambda leaf, row=row: leaf[row], stored), transition(number))


def test_sampling_draws_every_stored_transition_equally_and_nothing_else() -> None:
    drawn = rewards(sample(filled(8), jax.random.PRNGKey(0), 5000))
    numbers, counts = np.unique(drawn, return_counts=True)
    assert numbers.tolist() == [3, 4, 5, 6, 7]
    assert np.all(np.abs(counts - 1000) < 150)  # standard deviation 28


def test_sampling_ignores_slots_not_yet_filled() -> None:
    assert set(rewards(sample(filled(2, first=1), jax.random.PRNGKey(0), 200))) == {1, 2}


@pytest.mark.parametrize("parts", [1, 4])
def test_d11_every_minibatch_is_half_prior_half_online(parts: int) -> None:
    batch = mixed(filled(5, first=100), filled(5, first=0), jax.random.PRNGKey(1), batch=32)
    for part in np.split(np.array(rewards(batch)), parts):
        assert np.sum(part >= 100) == np.sum(part < 100) == 16 // parts


def test_d11_neighbours_come_from_different_halves() -> None:
    drawn = rewards(mixed(filled(5, first=100), filled(5), jax.random.PRNGKey(2), batch=8))
    assert [number >= 100 for number in drawn] == [True, False] * 4


def test_an_empty_ring_leaves_the_batch_to_the_other() -> None:
    key = jax.random.PRNGKey(0)
    assert set(rewards(mixed(filled(0), filled(5), key, batch=64))) == set(range(5))
    assert set(rewards(mixed(filled(5), filled(0), key, batch=64))) == set(range(5))


def test_sampling_keeps_transitions_whole() -> None:
    batch = mixed(filled(5, first=100), filled(5), jax.random.PRNGKey(3), batch=16)
    for row, number in enumerate(rewards(batch)):
        assert same(jax.tree.map(lambda leaf, row=row: leaf[row], batch), transition(number))


@pytest.mark.parametrize("counts", [[1, 8], [3, 3, 9], [7, 7, 7], [20], [2, 30, 1]])
def test_many_at_once_are_the_same_as_one_by_one(counts: list[int]) -> None:
    for capacity in (7, 12):
        half = ReplayHalf(SPEC, ACTION_DIM, capacity * ITEM)
        number = 0
        for count in counts:
            for number in range(number, number + count):  # noqa: B020
                half.insert(record(number), transition(number))
            number += 1
            assert same(half.ring, filled(number, capacity))


def test_while_a_log_is_read_back_the_device_is_called_once_per_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = filled(35, 40)
    monkeypatch.setattr("serl_learner.replay_half.insert", None)
    half = ReplayHalf(SPEC, ACTION_DIM, 40 * ITEM)
    for number in range(35):
        half.insert(record(number), transition(number))
    assert same(half.ring, expected)
