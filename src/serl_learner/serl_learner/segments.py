"""From records to transitions: two consecutive records of a segment make one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from serl_learner.replay import Transition
from serl_learner.types import Record, Relabel, Source


class Joined(NamedTuple):
    """A transition, the record that began it, and the records whose frames it has.

    `stack` are the T newest records up to that of o, `next_stack` up to that of o', oldest first.
    """

    first: Record
    transition: Transition
    stack: tuple[Record, ...]
    next_stack: tuple[Record, ...]


class SegmentJoiner:
    """Joins each record of a session with its successor; a tail without one is dropped (D3)."""

    def __init__(self, stack: int = 1) -> None:
        """`stack` is T, the frames that make up an observation; at the start of a segment its
        first one counts T times."""
        self._stack = stack
        self._open: dict[bytes, tuple[Record, ...]] = {}

    def add(self, record: Record) -> Joined | None:
        """The transition that `record` completes."""
        stack = self._open.pop(record.session, ())
        follows = bool(stack) and _follows(stack[-1], record)
        next_stack = (*stack[1:], record) if follows else (record,) * self._stack
        if not record.last:
            self._open[record.session] = next_stack
        if not follows:
            return None
        previous = stack[-1]
        transition = {
            "observation": dict(previous.observation),
            "next_observation": dict(record.observation),
            "action": previous.action,
            "reward": previous.reward,
            "terminated": previous.terminated,
        }
        return Joined(previous, transition, stack, next_stack)

    def relabel(self, relabel: Relabel) -> None:
        """Gives a record that waits for its successor the new label, if it is concerned."""
        stack = self._open.get(relabel.session, ())
        if stack and relabel.first_seq <= stack[-1].seq <= relabel.last_seq:
            newest = replace(stack[-1], reward=relabel.reward, terminated=relabel.terminated)
            self._open[relabel.session] = (*stack[:-1], newest)

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
            to_prior, to_online = halves(joined.first.source)
            prior, online = prior + to_prior, online + to_online
    return prior, online


def _follows(previous: Record, record: Record) -> bool:
    return record.episode == previous.episode and record.step == previous.step + 1
