"""Notices another living actor of the same name, by what the learner answers to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

STRIKES = 5
"""Answers to the other, in turn with ours, that prove that it lives."""

WINDOW = 15.0
"""Within which they must come [s]. Now and then a learner also speaks of sessions that are over."""


class RivalWatch:
    """Both actors hear the same answers in the same order, so they agree on who came second."""

    def __init__(self, actor_id: str, session: bytes, clock: Callable[[], float]) -> None:
        self._actor_id = actor_id
        self._session = session
        self._clock = clock
        self._elders: set[bytes] = set()
        self._begun = False
        self._own_since = False
        self._strikes: dict[bytes, deque[float]] = {}

    def hear(self, actor_id: str, session: bytes) -> bytes | None:
        """An answer of the learner; the session of the rival if it proves that there is one."""
        if actor_id != self._actor_id:
            return None
        if session == self._session:
            self._begun = self._own_since = True
            return None
        if not self._begun:
            self._elders.add(session)
        if not self._own_since:
            return None
        self._own_since = False
        now = self._clock()
        strikes = self._strikes.setdefault(session, deque(maxlen=STRIKES))
        strikes.append(now)
        proven = len(strikes) == STRIKES and now - strikes[0] <= WINDOW
        return session if proven else None

    def was_here_before(self, session: bytes) -> bool:
        """The rival came first: this actor has to leave."""
        return session in self._elders
