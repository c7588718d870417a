"""Which records make a transition: any stream of records against a naive reference (D3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import ACTION_DIM, SPEC, contents, record

from serl_learner.replay import create_ring, insert, transition_bytes
from serl_learner.segments import SegmentJoiner
from serl_learner.types import Record

CAPACITY = 7


@dataclass(frozen=True)
class Segment:
    """Part of an episode as an actor sends it."""

    session: bytes
    length: int
    terminated: bool
    finished: bool
    lost: frozenset[int]


segments = st.lists(
    st.builds(
        Segment,
        session=st.sampled_from([b"a" * 16, b"b" * 16]),
        length=st.integers(1, 6),
        terminated=st.booleans(),
        finished=st.booleans(),
        lost=st.frozensets(st.integers(0, 6), max_size=1),
    ),
    max_size=12,
)


def stream(parts: list[Segment], order: list[int]) -> list[Record]:
    """The records of all segments, numbered through; the two sessions mixed by `order`."""
    queues: dict[bytes, list[Record]] = {b"a" * 16: [], b"b" * 16: []}
    number = 0
    for episode, part in enumerate(parts):
        for step in range(part.length + part.finished):
            last = step == part.length
            number += 1
            if step in part.lost:
                continue
            made = record(
                step,
                value=number,
                session=part.session,
                episode=episode,
                last=last,
                reward=number / 1000.0,
                terminated=part.terminated and step == part.length - 1,
            )
            queues[part.session].append(made)
    mixed = []
    for choice in order:
        queue = queues[(b"a" * 16, b"b" * 16)[choice]]
        mixed += [queue.pop(0)] if queue else []
    return mixed + queues[b"a" * 16] + queues[b"b" * 16]


def reference(records: list[Record]) -> list[tuple[float, ...]]:
    """(observation, action, reward, terminated, next observation) by looking each step up."""
    found = {(r.session, r.episode, r.step): r for r in records}
    joined = []
    for second in records:
        first = found.get((second.session, second.episode, second.step - 1))
        if first is not None:
            joined.append(
                (_value(first), _value(first), first.reward, first.terminated, _value(second))
            )
    return joined


def _value(item: Record) -> float:
    return float(item.observation["state/b"][0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(segments, st.lists(st.integers(0, 1), max_size=40))
def test_d03_replay_holds_what_a_naive_reference_holds(
    parts: list[Segment], order: list[int]
) -> None:
    records = stream(parts, order)
    joiner = SegmentJoiner()
    ring = create_ring(SPEC, ACTION_DIM, CAPACITY * transition_bytes(SPEC, ACTION_DIM))
    for item in records:
        joined = joiner.add(item)
        if joined is not None:
            ring = insert(ring, _float32(joined[1]))
    stored = contents(ring)
    rows = zip(
        stored["observation"]["state/b"][:, 0].tolist(),
        stored["action"][:, 0].tolist(),
        stored["reward"].tolist(),
        stored["terminated"].tolist(),
        stored["next_observation"]["state/b"][:, 0].tolist(),
        strict=True,
    )
    expected = [tuple(np.float32(x) for x in row) for row in reference(records)[-CAPACITY:]]
    assert sorted(rows) == sorted(expected)


def _float32(transition: dict) -> dict:
    """Scalars in the ring's types, as the learner hands them over."""
    return transition | {
        "reward": np.float32(transition["reward"]),
        "terminated": np.bool_(transition["terminated"]),
    }


def test_a_tail_without_its_successor_is_dropped() -> None:
    joiner = SegmentJoiner()
    assert joiner.add(record(0)) is None
    assert joiner.add(record(1)) is not None
    # The actor dies; its next session begins anew, so record 1 never finds its successor.
    assert joiner.add(record(0, session=b"n" * 16)) is None
    assert joiner.add(record(0, episode=1)) is None


def test_the_final_observation_starts_no_transition() -> None:
    joiner = SegmentJoiner()
    joiner.add(record(0))
    assert joiner.add(record(1, last=True, action=None)) is not None
    assert joiner.add(record(2)) is None


def test_a_gap_joins_nothing_across_it() -> None:
    joiner = SegmentJoiner()
    joiner.add(record(0))
    assert joiner.add(record(2)) is None
    assert joiner.add(record(3)) is not None
