"""Files of episodes as the learner's log keeps them, of any keys and sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from serl_learner.episodes import stretch
from serl_learner.ros_log import encode_episode
from serl_learner.types import Record, Source

STATE = (
    "state/target_offset",
    "state/tcp_fine",
    "state/tcp_pose",
    "state/tcp_twist",
    "state/wrench",
)
"""Keys of pcb without cameras."""


def make_records(number=0, steps=4, success=True, cameras=(), size=128, keys=STATE) -> list[Record]:
    """A demonstration, random for its number."""
    rng, made = np.random.default_rng(number), []
    for step in range(steps + 1):
        last, end = step == steps, step == steps - 1
        observation = {key: rng.normal(size=6).astype(np.float32) for key in keys}
        for camera in cameras:
            observation[f"image/{camera}"] = rng.integers(0, 256, (size, size, 3), np.uint8)
        made.append(
            Record(
                session=b"session of tests",
                seq=100 * number + step,
                episode=number,
                step=step,
                observation=observation,
                action=None if last else rng.uniform(-0.9, 0.9, 6).astype(np.float32),
                reward=float(end and success),
                terminated=end and success,
                truncated=end and not success,
                last=last,
                success=last and success,
                source=Source.DEMO,
                stamp_ns=10**8 * (100 * number + step + 1),
            )
        )
    return made


def write_episodes(directory: Path, count: int = 3, **fields) -> Path:
    """One file each."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        write_episode(directory / f"n{number + 1:06d}.mcap", make_records(number, **fields))
    return directory


def write_episode(path: Path, records: list[Record]) -> None:
    """One file."""
    episode = stretch(records[0].actor_id, records[0].session, records)
    path.write_bytes(encode_episode(episode))
