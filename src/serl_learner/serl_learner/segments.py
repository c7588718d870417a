"""From records to transitions: two consecutive records of a segment make one."""

from __future__ import annotations

from dataclasses import dataclass

from serl_learner.types import Record


@dataclass(frozen=True)
class Step:
    """One transition: the record that began it and the one that completed it."""

    first: Record
    second: Record

    def continues(self, previous: Step | None) -> bool:
        """Whether this one begins with the observation that ended `previous`."""
        return previous is not None and previous.second is self.first


class SegmentJoiner:
    """Joins each record of a session with its successor; a tail without one is dropped (D3).

    The final record of an aborted episode completes nothing: what broke the episode off may have
    kept the arm from being seen, so its observation is not taken for the outcome of the action.
    """

    def __init__(self) -> None:
        self._open: dict[bytes, Record] = {}

    def add(self, record: Record) -> Step | None:
        """The transition that `record` completes."""
        previous = self._open.pop(record.session, None)
        if not record.last:
            self._open[record.session] = record
        if previous is None or record.aborted or not _follows(previous, record):
            return None
        return Step(previous, record)


def _follows(previous: Record, record: Record) -> bool:
    return record.episode == previous.episode and record.step == previous.step + 1
