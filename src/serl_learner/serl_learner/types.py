"""What flows between actor and learner: one record per control step, as in RLDS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

Observation = Mapping[str, np.ndarray]
"""Named arrays, e.g. {"state/tcp_pose": float32 [6]}."""

ObservationSpec = dict[str, tuple[tuple[int, ...], str]]
"""Shape and NumPy dtype name of every observation key."""


class Source(IntEnum):
    """Who chose an action; values as in Transition.msg."""

    POLICY = 0
    INTERVENTION = 1
    DEMO = 2
    RANDOM = 3
    EVAL = 4


@dataclass(frozen=True)
class Record:
    """One record of an episode. Two consecutive ones of a segment make a transition.

    `action` is what was executed, [A] in [-1, 1]; None on the last record of a segment, which
    holds only the final observation and the verdict (`aborted`, `success`).
    """

    session: bytes
    seq: int
    episode: int
    step: int
    observation: Observation
    action: np.ndarray | None
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    last: bool = False
    aborted: bool = False
    success: bool = False
    source: Source = Source.POLICY
    policy_version: int = 0
    stamp_ns: int = 0
    actor_id: str = "actor"
    extras: Observation = field(default_factory=dict)


@dataclass(frozen=True)
class Relabel:
    """A late human verdict: records `first_seq` to `last_seq`, inclusive, get this reward and
    this termination flag.

    `seq` is its own number, in the same sequence as the session's records; it concerns records
    before it. The final record of a segment has no action, so no label that it could change.
    """

    session: bytes
    seq: int
    first_seq: int
    last_seq: int
    reward: float
    terminated: bool
    stamp_ns: int = 0
    actor_id: str = "actor"


_ENTRY_BYTES = 1024  # of an entry without its arrays

Entry = Record | Relabel
"""What has a sequence number: all that an actor sends and the log keeps."""


def entry_bytes(entry: Entry) -> int:
    """About what it takes in memory."""
    if isinstance(entry, Relabel):
        return _ENTRY_BYTES
    arrays = [*entry.observation.values(), *entry.extras.values()]
    action = 0 if entry.action is None else entry.action.nbytes
    return _ENTRY_BYTES + action + sum(array.nbytes for array in arrays)


def spec_of(observation: Observation) -> ObservationSpec:
    """Shapes and dtypes of one observation, sorted by key."""
    return {k: (tuple(v.shape), v.dtype.name) for k, v in sorted(observation.items())}
