"""Replay keeps to its bytes: what it holds grows to the limit, what it takes never exceeds it."""

from __future__ import annotations

import jax
from toy import ACTION_DIM, SPEC, record, transition

from serl_learner.replay import transition_bytes
from serl_learner.replay_half import ReplayHalf


def test_what_is_held_grows_to_the_limit_and_no_further():
    one = transition_bytes(SPEC, ACTION_DIM)
    limit = 4 * one + one // 2  # not a whole number of transitions
    half = ReplayHalf(SPEC, ACTION_DIM, limit)
    held = []
    for seq in range(7):
        half.insert(record(seq), transition(seq))
        held.append(half.bytes_held)
        assert sum(leaf.nbytes for leaf in jax.tree.leaves(half.ring.data)) <= limit
    assert held == [one, 2 * one, 3 * one, 4 * one, 4 * one, 4 * one, 4 * one]
