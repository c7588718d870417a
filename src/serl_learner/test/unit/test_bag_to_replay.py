"""A thousand random transitions through a bag into replay: not one bit is another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bag_writing import write_bag
from test_replay_frames import SHAPE, fill
from test_ros_records import assert_same
from toy import contents, same

from serl_learner.episodes import stretch
from serl_learner.ros_bag import read_recordings
from serl_learner.ros_log import encode_episode
from serl_learner.types import Record, Source

TRANSITIONS = 1000
ROOM = 2**20  # of replay: all find room [byte]
SOURCES = (Source.POLICY, Source.INTERVENTION, Source.RANDOM)


def random_bits(rng: np.random.Generator, size: int) -> np.ndarray:
    """float32 [size] of any bits that are a number, the smallest ones and -0 among them."""
    bits = rng.integers(0, 2**32, 64 * size, dtype=np.uint32)
    values = np.concatenate([np.float32([-0.0, 1e-45, 3e38])[: size // 2], bits.view(np.float32)])
    return values[np.isfinite(values)][:size]


def random_episodes(seed: int) -> list[list[Record]]:
    """Episodes of random length with TRANSITIONS steps together."""
    rng, made, seq, steps = np.random.default_rng(seed), [], 0, 0
    while steps < TRANSITIONS:
        length = min(int(rng.integers(1, 80)), TRANSITIONS - steps)
        records = []
        for step in range(length + 1):
            last = step == length
            records.append(
                Record(
                    session=b"random number of",
                    seq=seq + step,
                    episode=len(made),
                    step=step,
                    observation={
                        "image/wrist": rng.integers(0, 256, SHAPE, np.uint8),
                        "state/a": random_bits(rng, 2),
                        "state/b": random_bits(rng, 1),
                    },
                    action=None if last else rng.uniform(-1, 1, 2).astype(np.float32),
                    reward=float(random_bits(rng, 1)[0]),
                    terminated=bool(step == length - 1 and rng.integers(2)),
                    last=last,
                    source=SOURCES[rng.integers(len(SOURCES))],
                    stamp_ns=10**8 * (seq + step + 1),
                )
            )
        made.append(records)
        seq, steps = seq + length + 1, steps + length
    return made


@pytest.mark.parametrize("written_by", ["log", "rosbag2"])
def test_a_thousand_transitions_through_a_bag_into_replay(tmp_path, written_by):
    made = random_episodes(seed=11)
    records = [record for episode in made for record in episode]
    if written_by == "log":
        for number, episode in enumerate(made):
            content = encode_episode(stretch("actor", episode[0].session, episode))
            (tmp_path / f"n{number:06d}.mcap").write_bytes(content)
    else:
        write_bag(tmp_path / "bag", records)
    found = [
        record
        for recording in read_recordings([tmp_path])
        for recorded in recording.episodes
        for record in recorded.episode.records
    ]
    assert len(found) == len(records)
    for a, b in zip(found, records, strict=True):
        assert_same(a, replace(b, actor_id="actor"))
        for key, value in b.observation.items():
            assert a.observation[key].tobytes() == value.tobytes()
    through, direct = fill(found, 1, ROOM), fill(records, 1, ROOM)
    assert [half.inserted for half in through] == [half.inserted for half in direct]
    for half, other in zip(through, direct, strict=True):
        assert same(half.ring, other.ring)
    assert through[1].inserted == TRANSITIONS
    steps = [record for record in records if not record.last]
    ring = through[1].ring
    kept, frames = contents(ring), np.array(ring.frames["image/wrist"])
    for key in ("state/a", "state/b"):
        expected = np.array([record.observation[key] for record in steps])
        assert kept["observation"][key].tobytes() == expected.tobytes()
    pictures = np.array([record.observation["image/wrist"] for record in steps])
    np.testing.assert_array_equal(frames[kept["frames"][:, 0]], pictures)
    np.testing.assert_array_equal(kept["action"], [record.action for record in steps])
    assert kept["reward"].tobytes() == np.float32([r.reward for r in steps]).tobytes()
