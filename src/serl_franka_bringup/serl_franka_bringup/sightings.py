"""What an onlooker of `transitions` and `transitions/ack` saw: kept while processes are killed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class InFlight:
    """Records of the newest session that were on their way at one moment.

    Attributes:
      unreceived: sent, but not taken by the learner.
      unacknowledged: sent, but not durable at the learner.
    """

    unreceived: int = 0
    unacknowledged: int = 0


@dataclass
class _Session:
    """Progress of one session, by sequence numbers; each is one above the last."""

    sent: int = 0
    received: int = 0
    acknowledged: int = 0


class Sightings:
    """Thread-safe: messages come from one thread, questions from another. Times [s] grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._newest: tuple[str, str] | None = None
        self._steps: list[float] = []
        self._updates: list[tuple[float, int]] = []
        self._training = False
        self._withdrawn: list[str] = []
        self._counters: dict[str, float] = {}

    def add_record(self, actor: str, session: str, seq: int, is_step: bool, now: float) -> None:
        """A record was sent, for the first time or again."""
        with self._lock:
            known = self._find(actor, session)
            if seq >= known.sent:
                known.sent = seq + 1
                self._newest = actor, session
                if is_step:
                    self._steps.append(now)

    def add_ack(
        self,
        actor: str,
        session: str,
        received: int,
        acknowledged: int,
        updates: int,
        training: bool,
        now: float,
    ) -> None:
        """The learner answered; one that takes back what it called durable is noted."""
        with self._lock:
            self._training = training
            self._updates.append((now, updates))
            if not any(bytes.fromhex(session)):  # the learner has heard no actor yet
                return
            known = self._find(actor, session)
            if acknowledged < known.acknowledged:
                self._withdrawn.append(
                    f"session {session[:8]}: acknowledged below {known.acknowledged}, "
                    f"then below {acknowledged}"
                )
            known.received = received
            known.acknowledged = max(known.acknowledged, acknowledged)

    def add_counters(self, values: Mapping[str, float]) -> None:
        """Metrics of the learner."""
        with self._lock:
            self._counters.update(values)

    def counter(self, name: str) -> float | None:
        """A metric of the learner, as last heard; None: never."""
        with self._lock:
            return self._counters.get(name)

    def acknowledged(self) -> Mapping[str, int]:
        """By session: the highest number below which all was called durable."""
        with self._lock:
            return {session: s.acknowledged for (_, session), s in self._sessions.items()}

    def withdrawn(self) -> tuple[str, ...]:
        """One sentence for every time that an acknowledgement went back."""
        with self._lock:
            return tuple(self._withdrawn)

    def in_flight(self) -> InFlight:
        """Of the session that sent last."""
        with self._lock:
            if self._newest is None:
                return InFlight()
            s = self._sessions[self._newest]
            return InFlight(max(0, s.sent - s.received), max(0, s.sent - s.acknowledged))

    @property
    def training(self) -> bool:
        """The learner's last word was that it updates."""
        with self._lock:
            return self._training

    def first_step(self, since: float) -> float | None:
        """When the first new control step was recorded after `since` [s]."""
        with self._lock:
            return next((time for time in self._steps if time >= since), None)

    def first_update(self, since: float) -> float | None:
        """When the updates first grew after `since` [s], by two answers given after it."""
        with self._lock:
            later = [entry for entry in self._updates if entry[0] >= since]
        return next((b[0] for a, b in pairwise(later) if b[1] > a[1]), None)

    def _find(self, actor: str, session: str) -> _Session:
        return self._sessions.setdefault((actor, session), _Session())
