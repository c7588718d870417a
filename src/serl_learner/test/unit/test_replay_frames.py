"""Replay of images: whatever is sampled is what a naive reference holds (D3)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import ACTION_DIM, SPEC, record

from serl_learner.frame_ring import FrameLayout
from serl_learner.frame_slots import KeyedFrame
from serl_learner.replay import Ring, sample_mixed
from serl_learner.replay_half import ReplayHalf
from serl_learner.segments import SegmentJoiner, halves
from serl_learner.types import Record, Source

SHAPE = (4, 4, 3)
IMAGE_SPEC = SPEC | {"image/wrist": (SHAPE, "uint8")}
SESSIONS = (b"a" * 16, b"b" * 16)
FRAME = 48  # [bytes]
CAPACITIES = {"few": 900, "more": 2500}  # [bytes]

mixed = jax.jit(sample_mixed, static_argnames="batch")


@dataclass(frozen=True)
class Segment:
    """Part of an episode as an actor sends it."""

    session: bytes
    sources: tuple[Source, ...]
    finished: bool
    lost: frozenset[int]


segments = st.lists(
    st.builds(
        Segment,
        session=st.sampled_from(SESSIONS),
        sources=st.lists(st.sampled_from(Source), min_size=1, max_size=8).map(tuple),
        finished=st.booleans(),
        lost=st.frozensets(st.integers(0, 8), max_size=1),
    ),
    max_size=12,
)


def stream(parts: list[Segment], order: list[int]) -> list[Record]:
    """The records of all segments, numbered through; the two sessions mixed by `order`."""
    queues: dict[bytes, list[Record]] = {session: [] for session in SESSIONS}
    number = 0
    for episode, part in enumerate(parts):
        for step in range(len(part.sources) + part.finished):
            last = step == len(part.sources)
            number += 1
            if step not in part.lost:
                made = record(step, value=number, session=part.session, seq=number)
                image = {"image/wrist": np.full(SHAPE, number, np.uint8)}
                source = part.sources[min(step, len(part.sources) - 1)]
                fields = {"episode": episode, "last": last, "source": source}
                observation = {**made.observation, **image}
                made = Record(**{**made.__dict__, "observation": observation, **fields})
                queues[part.session].append(made)
    mixed_up = []
    for choice in order:
        queue = queues[SESSIONS[choice]]
        mixed_up += [queue.pop(0)] if queue else []
    return mixed_up + queues[SESSIONS[0]] + queues[SESSIONS[1]]


Row = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of the records of the frames of o, and of those of o'."""


def reference(records: list[Record], stack: int) -> tuple[list[Row], list[Row]]:
    """Every transition of the prior and of the online half, by looking each step up."""
    found = {(r.session, r.episode, r.step): r for r in records}

    def frames(item: Record) -> tuple[int, ...]:
        steps = [item]
        while len(steps) < stack:
            before = found.get((item.session, item.episode, steps[0].step - 1))
            steps.insert(0, before or steps[0])
        return tuple(r.seq for r in steps)

    prior: list[Row] = []
    online: list[Row] = []
    for second in records:
        first = found.get((second.session, second.episode, second.step - 1))
        if first is not None:
            to_prior, to_online = halves(first.source)
            row = (frames(first), frames(second))
            prior += [row] * to_prior
            online += [row] * to_online
    return prior, online


def fill(records: list[Record], stack: int, capacity: int) -> tuple[ReplayHalf, ReplayHalf]:
    """Prior and online half after these records."""
    layout = FrameLayout({"image/wrist": (SHAPE, "uint8")}, stack)
    prior, online = (ReplayHalf(IMAGE_SPEC, ACTION_DIM, capacity, layout) for _ in range(2))
    joiner = SegmentJoiner(stack)
    for item in records:
        joined = joiner.add(item)
        if joined is None:
            continue
        stacks = [[keyed(r) for r in records] for records in (joined.stack, joined.next_stack)]
        for half, chosen in zip((prior, online), halves(joined.first.source), strict=True):
            if chosen:
                half.insert(joined.first, plain(joined.transition), *stacks)
    return prior, online


def keyed(item: Record) -> KeyedFrame:
    """What is stored of its image."""
    return KeyedFrame((item.session, item.seq), {"image/wrist": item.observation["image/wrist"]})


def plain(transition: dict[str, Any]) -> dict[str, Any]:
    """Without the images, scalars in the ring's types."""
    return {
        **transition,
        "observation": {k: transition["observation"][k] for k in SPEC},
        "next_observation": {k: transition["next_observation"][k] for k in SPEC},
        "reward": np.float32(transition["reward"]),
        "terminated": np.bool_(transition["terminated"]),
    }


def rows_in(batch: dict[str, Any]) -> list[Row]:
    """The rows that were sampled; every pixel of a frame, and the state, tell the same number."""
    rows = []
    stacks = [np.asarray(batch[o]["image/wrist"]) for o in ("observation", "next_observation")]
    for first, second in zip(*stacks, strict=True):
        for frames in (first, second):
            assert np.all(frames == frames[:, :1, :1, :1])
        rows.append((tuple(first[:, 0, 0, 0].tolist()), tuple(second[:, 0, 0, 0].tolist())))
    states = [
        np.round(1000 * np.asarray(batch[o]["state/b"])[:, 0]).astype(int)
        for o in ("observation", "next_observation")
    ]
    assert [row[0][-1] for row in rows] == states[0].tolist()
    assert [row[1][-1] for row in rows] == states[1].tolist()
    return rows


def held(ring: Ring) -> list[Row]:
    """All that can be sampled, the oldest first."""
    order = (int(ring.head) - int(ring.size) + np.arange(int(ring.size))) % ring.capacity
    numbers = np.asarray(ring.frames["image/wrist"])[:, 0, 0, 0]
    stacks = [numbers[np.asarray(ring.data[name])[order]] for name in ("frames", "next_frames")]
    return [(tuple(a.tolist()), tuple(b.tolist())) for a, b in zip(*stacks, strict=True)]


@pytest.mark.parametrize("stack", [1, 3])
@pytest.mark.parametrize("capacity", CAPACITIES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(parts=segments, order=st.lists(st.integers(0, 1), max_size=60), key=st.integers(0, 99))
def test_d03_what_is_sampled_is_what_a_naive_reference_holds(
    stack: int, capacity: str, parts: list[Segment], order: list[int], key: int
) -> None:
    records = stream(parts, order)
    pair = fill(records, stack, CAPACITIES[capacity])
    expected = reference(records, stack)
    possible = []
    for half, rows in zip(pair, expected, strict=True):
        found = held(half.ring)
        possible.append(set(found))
        assert found == rows[len(rows) - len(found) :]
        assert len(found) <= half.capacity
        assert bool(found) == bool(rows)
    if any(possible):
        drawn = rows_in(mixed(pair[0].ring, pair[1].ring, jax.random.PRNGKey(key), batch=16))
        both = all(possible)
        assert set(drawn[0::2]) <= possible[0 if possible[0] else 1]
        assert set(drawn[1::2]) <= possible[1 if both or possible[1] else 0]


@pytest.mark.parametrize("stack", [1, 3])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(parts=segments)
def test_of_one_actor_as_many_are_held_as_frames_and_slots_allow(
    stack: int, parts: list[Segment]
) -> None:
    parts = [Segment(SESSIONS[0], p.sources, p.finished, p.lost) for p in parts]
    records = stream(parts, [])
    for half, rows in zip(fill(records, stack, 900), reference(records, stack), strict=True):
        room = len(half.ring.frames["image/wrist"])
        most = min(half.capacity, len(rows))
        while len({number for row in rows[len(rows) - most :] for n in row for number in n}) > room:
            most -= 1
        assert len(held(half.ring)) == most


def test_each_frame_is_stored_once_in_a_half() -> None:
    sources = (Source.POLICY, Source.INTERVENTION, Source.INTERVENTION, Source.POLICY)
    records = stream([Segment(SESSIONS[0], sources, True, frozenset())], [])
    prior, online = fill(records, 1, 2500)
    counted = defaultdict(int)
    for name, half in (("prior", prior), ("online", online)):
        pixels = np.asarray(half.ring.frames["image/wrist"])[:, 0, 0, 0]
        counted[name] = sorted(pixels[pixels > 0].tolist())
    assert counted == {"prior": [2, 3, 4], "online": [1, 2, 3, 4, 5]}
    assert online.bytes_held - prior.bytes_held == 2 * (37 + 8) + 2 * FRAME


def test_the_bytes_cover_frames_and_transitions() -> None:
    layout = FrameLayout({"image/wrist": (SHAPE, "uint8")}, 1)
    for limit in (900, 1777, 2500):
        ring = ReplayHalf(IMAGE_SPEC, ACTION_DIM, limit, layout).ring
        taken = sum(leaf.nbytes for leaf in jax.tree.leaves((ring.data, ring.frames)))
        assert limit - 37 - 8 - 2 * FRAME < taken <= limit
    with pytest.raises(ValueError, match=r"290 bytes is below one transition \(45 bytes.* of 48\)"):
        ReplayHalf(IMAGE_SPEC, ACTION_DIM, 290, layout)
