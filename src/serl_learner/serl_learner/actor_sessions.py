"""Exactly once: which of an actor's records are new, and which are safe on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from serl_learner.types import Record


class Verdict(Enum):
    """What a sequence number says about a record."""

    NEXT = "next"
    DUPLICATE = "duplicate"
    GAP = "gap"


@dataclass
class ActorSession:
    """One start of one actor.

    Attributes:
      received_seq: every record below has arrived.
      next_seq: every record below is in a sealed episode.
      next_episode: episodes below are sealed.
      episode: records of the open episode.
    """

    actor_id: str
    session: bytes
    received_seq: int = 0
    next_seq: int = 0
    next_episode: int = 0
    episode: list[Record] = field(default_factory=list)


@dataclass(frozen=True)
class Acknowledgement:
    """The fields of TransitionAck.msg; without an actor while none was heard of."""

    actor_id: str
    session: bytes
    next_seq: int
    received_seq: int
    credit: int
    demonstrations: int
    updates: int
    training: bool


class ActorSessions:
    """All sessions heard of. A gap is not taken: the actor sends again what was lost."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, ActorSession] = {}
        self.newest: ActorSession | None = None
        self.duplicates = 0
        self.gaps = 0

    def find(self, actor_id: str, session: bytes) -> ActorSession:
        """The session, known or new; it is the newest one now."""
        found = self._sessions.get(session)
        if found is None:
            found = self._sessions[session] = ActorSession(actor_id, session)
        self.newest = found
        return found

    def judge(self, found: ActorSession, seq: int) -> Verdict:
        """Whether record `seq` is the next of its session; others are counted."""
        if seq == found.received_seq:
            return Verdict.NEXT
        if seq < found.received_seq:
            self.duplicates += 1
            return Verdict.DUPLICATE
        self.gaps += 1
        return Verdict.GAP

    def superseded(self, newer: ActorSession) -> list[ActorSession]:
        """Older sessions of the same actor that have an open episode: nothing follows there."""
        return [
            other
            for other in self._sessions.values()
            if other is not newer and other.actor_id == newer.actor_id and other.episode
        ]

    def restore(self, record: Record) -> None:
        """Takes notice of the last record of a sealed episode."""
        found = self.find(record.actor_id, record.session)
        found.next_seq = found.received_seq = max(found.next_seq, record.seq + 1)
        found.next_episode = max(found.next_episode, record.episode + 1)
