"""Episodes as steps of RLDS, one .npz file each; see `export` for what is in them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from serl_learner.atomic_file import write_file
from serl_learner.types import Record, spec_of

INFO = "dataset.json"


def write(out: Path, episodes: Sequence[Sequence[Record]], instruction: str) -> None:
    """Writes episode_000000.npz and so on, then dataset.json."""
    for index, records in enumerate(episodes):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **steps_of(records))  # type: ignore[arg-type]
        write_file(out / f"episode_{index:06d}.npz", buffer.getvalue())
    arrays = steps_of(episodes[0])
    info = {
        "format": "RLDS steps, one episode a file",
        "instruction": instruction,
        "episodes": len(episodes),
        "steps": sum(len(records) for records in episodes),
        "features": {
            key: {"dtype": dtype, "shape": list(shape[1:])}
            for key, (shape, dtype) in spec_of(arrays).items()
        },
    }
    write_file(out / INFO, (json.dumps(info, indent=2) + "\n").encode())


def steps_of(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """Arrays [T + 1, ...] by name: T steps, and the final observation with an action of 0.

    `reward` and `discount` are those of the action beside them: 0 is the discount of one that
    terminates, else 1. `is_terminal` marks the final observation of an episode that terminated.
    """
    count = len(records)
    actions = [record.action for record in records if record.action is not None]
    nothing = np.zeros_like(actions[0])
    terminated = any(record.terminated for record in records)
    ends = np.arange(count) == count - 1
    stacked = {
        f"observation/{key}": np.stack([record.observation[key] for record in records])
        for key in records[0].observation
    }
    return {
        **stacked,
        "action": np.stack([r.action if r.action is not None else nothing for r in records]),
        "reward": np.array([record.reward for record in records], np.float32),
        "discount": np.array([0.0 if r.terminated else 1.0 for r in records], np.float32),
        "is_first": np.arange(count) == 0,
        "is_last": ends,
        "is_terminal": ends & terminated,
        "source": np.array([record.source for record in records], np.uint8),
        "stamp_ns": np.array([record.stamp_ns for record in records], np.int64),
    }
