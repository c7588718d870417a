"""From records to transitions: two consecutive records of a segment make one."""

from __future__ import annotations

from serl_learner.replay import Transition
from serl_learner.types import Record


class SegmentJoiner:
    """Joins each record of a session with its successor; a tail without one is dropped (D3)."""

    def __init__(self) -> None:
        self._open: dict[bytes, Record] = {}

    def add(self, record: Record) -> tuple[Record, Transition] | None:
        """The transition that `record` completes, with the record that began it."""
        previous = self._open.pop(record.session, None)
        if not record.last:
            self._open[record.session] = record
        if previous is None or not _follows(previous, record):
            return None
        return previous, {
            "observation": dict(previous.observation),
            "next_observation": dict(record.observation),
            "action": previous.action,
            "reward": previous.reward,
            "terminated": previous.terminated,
        }


def _follows(previous: Record, record: Record) -> bool:
    return record.episode == previous.episode and record.step == previous.step + 1
