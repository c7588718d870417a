"""From records to transitions: two consecutive records of a segment make one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from serl_learner.replay import Transition
from serl_learner.types import Record, Relabel, Source


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

    def relabel(self, relabel: Relabel) -> None:
        """Gives a record that waits for its successor the new label, if it is concerned."""
        waiting = self._open.get(relabel.session)
        if waiting is not None and relabel.first_seq <= waiting.seq <= relabel.last_seq:
            self._open[relabel.session] = replace(
                waiting, reward=relabel.reward, terminated=relabel.terminated
            )

    def break_off(self, session: bytes) -> None:
        """What comes next in this session follows on nothing."""
        self._open.pop(session, None)


def halves(source: Source) -> tuple[bool, bool]:
    """Whether a transition of this source goes to the prior half, and to the online half.

    An intervention goes to both (HIL-SERL), evaluation to neither.
    """
    prior = source in (Source.DEMO, Source.INTERVENTION)
    return prior, source not in (Source.DEMO, Source.EVAL)


def count_transitions(records: Iterable[Record]) -> tuple[int, int]:
    """Transitions that these consecutive records bring to the prior and to the online half."""
    prior = online = 0
    joiner = SegmentJoiner()
    for record in records:
        joined = joiner.add(record)
        if joined is not None:
            to_prior, to_online = halves(joined[0].source)
            prior, online = prior + to_prior, online + to_online
    return prior, online


def _follows(previous: Record, record: Record) -> bool:
    return record.episode == previous.episode and record.step == previous.step + 1
