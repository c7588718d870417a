"""Exactly once: which of an actor's messages are new, and which are safe on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from serl_learner.episodes import Episode
from serl_learner.gap import Gap
from serl_learner.types import Entry, Record, entry_bytes

REORDERED = 16
"""How far ahead of its turn an entry is kept: relabels have a topic of their own, and overtake."""


class Verdict(Enum):
    """What a sequence number says about a message."""

    NEXT = "next"
    DUPLICATE = "duplicate"
    GAP = "gap"


@dataclass
class ActorSession:
    """One start of one actor.

    Attributes:
      received_seq: everything below has arrived.
      next_seq: everything below is in a sealed file.
      next_episode: episodes below are sealed as complete.
      parts: files that `next_episode` has already: it was broken off and may go on.
      entries: what came since the last seal.
      open_bytes: what these take in memory.
      refused: numbers of messages that were refused since then.
      early: entries that came before their turn, by number.
      gap: what came beyond a number that is missing.
      played: nobody sends again what is missing: it is a recording that is played.
      unsent: numbers right before the open stretch that never came.
      begun: something was admitted since the learner started.
      heard: when the last message came [s, steady clock].
      settled: false: what was acked before a restart is not known; the first message tells.
    """

    actor_id: str
    session: bytes
    received_seq: int = 0
    next_seq: int = 0
    next_episode: int = 0
    parts: int = 0
    entries: list[Entry] = field(default_factory=list)
    open_bytes: int = 0
    refused: list[int] = field(default_factory=list)
    early: dict[int, Entry] = field(default_factory=dict)
    gap: Gap = field(default_factory=Gap)
    played: bool = False
    unsent: int = 0
    begun: bool = False
    heard: float = 0.0
    settled: bool = True

    @property
    def episode(self) -> int | None:
        """Number of the open episode."""
        return next((e.episode for e in self.entries if isinstance(e, Record)), None)

    @property
    def unsealed(self) -> bool:
        """Something waits for a seal."""
        return bool(self.entries or self.refused)

    def append(self, entry: Entry) -> None:
        """Adds an entry to the open stretch."""
        self.entries.append(entry)
        self.open_bytes += entry_bytes(entry)

    def keep_early(self, entry: Entry) -> None:
        """Keeps an entry that came after a gap, if it is not too far ahead."""
        if entry.seq - self.received_seq <= REORDERED:
            self.early.setdefault(entry.seq, entry)

    def take_next(self) -> Entry | None:
        """The entry whose turn it is now, if it came early."""
        return self.early.pop(self.received_seq, None)

    def skip_to(self, seq: int) -> None:
        """What comes next is number `seq`: those before it are not waited for."""
        self.unsent += seq - self.received_seq
        self.received_seq = seq
        self.early.clear()

    def take_open(self) -> tuple[list[Entry], list[int]]:
        """Ends the open stretch: its entries and refused numbers."""
        taken = self.entries, self.refused
        self.entries, self.refused, self.open_bytes = [], [], 0
        return taken

    def note_sealed(self, episode: Episode) -> None:
        """Counts a sealed stretch; what is sealed need not be on disk yet."""
        if episode.number is None:
            return
        if episode.complete:
            self.next_episode, self.parts = max(self.next_episode, episode.number + 1), 0
        elif episode.number >= self.next_episode:
            self.next_episode, self.parts = episode.number, episode.part + 1


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
    """All sessions heard of. What comes after a gap waits, or is sent again by its actor.

    Without a log (`durable` false) nobody knows what was acked before a restart: a session then
    goes on from the first message that is heard of it.
    """

    def __init__(self, durable: bool = True) -> None:
        self._durable = durable
        self._sessions: dict[bytes, ActorSession] = {}
        self._touched: dict[bytes, ActorSession] = {}
        self.duplicates = 0
        self.gaps = 0

    def find(self, actor_id: str, session: bytes) -> ActorSession:
        """The session, known or new; it is the newest one now."""
        found = self._sessions.pop(session, None)
        found = found or ActorSession(actor_id, session, settled=self._durable)
        self._sessions[session] = found
        return found

    @property
    def newest(self) -> ActorSession | None:
        """The one that was heard last, but for recordings: nobody hears what they are told."""
        heard = reversed(self._sessions.values())
        return next((session for session in heard if not session.played), None)

    def judge(self, found: ActorSession, seq: int) -> Verdict:
        """Whether message `seq` is the next of its session; others are counted."""
        if not found.settled:
            found.settled = True
            found.received_seq = max(found.received_seq, seq)
            found.next_seq = max(found.next_seq, seq)
        if seq == found.received_seq:
            return Verdict.NEXT
        if seq < found.received_seq:
            self.duplicates += 1
            return Verdict.DUPLICATE
        self.gaps += 1
        return Verdict.GAP

    def unsealed(self) -> list[ActorSession]:
        """Sessions of which something waits for a seal."""
        return [session for session in self._sessions.values() if session.unsealed]

    def with_gaps(self) -> list[ActorSession]:
        """Sessions of which a number is missing."""
        return [s for s in self._sessions.values() if s.gap.since is not None]

    def superseded(self, newer: ActorSession) -> list[ActorSession]:
        """Older sessions of the same actor with something unsealed: nothing follows there."""
        return [
            other
            for other in self.unsealed()
            if other is not newer and other.actor_id == newer.actor_id
        ]

    def touch(self, found: ActorSession) -> None:
        """There is something to tell this actor; nobody hears what a recording is told."""
        if not found.played:
            self._touched[found.session] = found

    def take_touched(self) -> list[ActorSession]:
        """The actors to answer now; each once."""
        touched = list(self._touched.values())
        self._touched.clear()
        return touched

    def restore(self, episode: Episode) -> None:
        """Takes notice of a sealed file."""
        found = self.find(episode.actor_id, episode.session)
        found.next_seq = found.received_seq = max(found.next_seq, episode.next_seq)
        found.note_sealed(episode)

    def positions(self) -> dict[str, int]:
        """`next_seq` of every session, by its number in hexadecimal."""
        return {name.hex(): session.next_seq for name, session in self._sessions.items()}
