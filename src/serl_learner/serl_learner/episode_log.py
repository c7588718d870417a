"""Open episodes of all actors, and the order in which they become durable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from serl_learner.actor_sessions import ActorSession, ActorSessions, Verdict
from serl_learner.disk_space import NoSpace
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import Episode, stretch
from serl_learner.types import Entry, Record

PLAYED_PATIENCE = 1.0
"""For a number that is missing in a recording that is played: relabels overtake records [s]."""
RETRY = 1.0
"""Between two looks whether there is room on the disk again [s]."""


@dataclass(frozen=True)
class LogConfig:
    """Limits of the log.

    Attributes:
      lease_s: an actor that is silent for so long has its open episode sealed [s].
      min_free_bytes: what is left free on the disk; below it nothing is written.
      pending_bytes: sealed episodes that wait in memory for room, as received and as files; above
        it nothing is received.
      open_bytes: what an open episode may take in memory; one that takes more is broken off.
      refused_limit: refused messages after which a stretch is sealed, whatever else came.
      log_bytes: size of the log above which the oldest files that replay no longer needs are
        removed; not set: all are kept.
    """

    lease_s: float = 10.0
    min_free_bytes: int = 512 * 2**20
    pending_bytes: int = 64 * 2**20
    open_bytes: int = 256 * 2**20
    refused_limit: int = 1000
    log_bytes: int | None = None

    def __post_init__(self) -> None:
        if not self.lease_s > 0.0:
            raise ValueError(f"lease_s {self.lease_s} is not above 0")
        limits = {"min_free_bytes": 0, "pending_bytes": 1, "open_bytes": 1, "refused_limit": 1}
        for name, least in limits.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)} is below {least}")
        if self.log_bytes is not None and self.log_bytes < 1:
            raise ValueError(f"log_bytes {self.log_bytes} is below 1")


@dataclass(frozen=True)
class _Pending:
    actor: ActorSession
    episode: Episode
    content: bytes
    size: int


class EpisodeLog:
    """Takes every message once, seals stretches of them, and writes them when there is room.

    Callbacks: `sealed` hears of every stretch as it ends, `written` of its file, `say` of what a
    person should know.
    """

    def __init__(
        self,
        config: LogConfig,
        store: EpisodeStore,
        clock: Callable[[], float],
        sealed: Callable[[Episode], None],
        written: Callable[[Path, Episode], None],
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._sealed = sealed
        self._written = written
        self._say = say
        self.actors = ActorSessions(durable=store.keeps_log)
        self._pending: deque[_Pending] = deque()
        self.pending_bytes = 0
        self._tried = -RETRY
        self._looked = clock()
        self.waiting_for = ""

    @property
    def full(self) -> bool:
        """As much as may waits in memory: nothing more is received."""
        return self.pending_bytes >= self._config.pending_bytes

    def admit(
        self, actor_id: str, session: bytes, seq: int, entry: Entry | None = None
    ) -> ActorSession | None:
        """The session, if message `seq` is its next; any message is a sign of life.

        Its entry, if it could be decoded, is kept for a while if it came after a gap.
        A new session of an actor ends what its older ones left open.
        """
        actor = self.actors.find(actor_id, session)
        self.actors.touch(actor)
        actor.heard = self._clock()
        if self.full:
            return None
        verdict = self.actors.judge(actor, seq)
        if verdict is Verdict.GAP and entry is not None:
            actor.keep_early(entry)
            actor.gap.keep(entry, self._clock(), self._config.open_bytes)
        if verdict is Verdict.DUPLICATE:  # somebody sends again, so somebody listens
            actor.played = False
        if verdict is not Verdict.NEXT:
            return None
        actor.gap.close()
        actor.received_seq += 1
        if not actor.begun:
            actor.begun = True
            for older in self.actors.superseded(actor):
                self.seal(older, "the actor began a new session")
        return actor

    def take_beyond_gaps(self) -> list[Entry]:
        """Entries after gaps that nobody fills, by session and number: to be received again.

        Their sessions go on with them. What was open before is broken off, so that no transition
        reaches over the gap.
        """
        found: list[Entry] = []
        for actor in self.actors.with_gaps() if not self.full else []:
            patience = PLAYED_PATIENCE if actor.played else self._config.lease_s
            if actor.gap.since is None or self._clock() - actor.gap.since <= patience:
                continue
            beyond = actor.gap.close()
            if beyond:
                missing = f"{actor.received_seq}..{beyond[0].seq - 1}"
                if actor.unsealed:
                    self.seal(actor, f"records {missing} never came")
                name = f"session {actor.session.hex()[:8]} of actor {actor.actor_id!r}"
                self._say(f"{name}: records {missing} never came; it goes on without")
                actor.skip_to(beyond[0].seq)
                actor.played = True
                found += beyond
        return found

    def begin(self, actor: ActorSession, episode: int) -> None:
        """Ends what is open of another episode: a record of this one came."""
        if actor.episode not in (None, episode):
            self.seal(actor, "its last record is missing")

    def append(self, actor: ActorSession, entry: Entry) -> None:
        """Keeps an admitted entry; the end of an episode seals it."""
        actor.append(entry)
        if entry.last if isinstance(entry, Record) else actor.episode is None:
            self.seal(actor)
        elif actor.open_bytes >= self._config.open_bytes:
            self.seal(actor, f"its {actor.open_bytes} bytes reached open_bytes")

    def refuse(self, actor: ActorSession, seq: int) -> None:
        """Counts an admitted message of which nothing is kept."""
        actor.refused.append(seq)
        if len(actor.refused) >= self._config.refused_limit:
            self.seal(actor, f"{len(actor.refused)} messages were refused")

    def seal(self, actor: ActorSession, reason: str = "") -> None:
        """Ends the open stretch of a session; `reason`, if its episode was broken off."""
        number = actor.episode
        part = actor.parts if number == actor.next_episode else 0
        broken = reason if number is not None else ""
        received = actor.open_bytes
        episode = stretch(actor.actor_id, actor.session, *actor.take_open(), part, broken)
        episode, actor.unsent = replace(episode, unsent=actor.unsent), 0
        actor.note_sealed(episode)
        content = self._store.encode(episode)
        self._pending.append(_Pending(actor, episode, content, received + len(content)))
        self.pending_bytes += received + len(content)
        self._sealed(episode)
        if not self.waiting_for:
            self._flush()

    def look(self) -> None:
        """Seals what silent actors left open, and tries again what found no room."""
        now = self._clock()
        away, self._looked = now - self._looked, now
        for actor in self.actors.with_gaps() if away > self._config.lease_s / 2 else []:
            if actor.gap.since is not None:
                actor.gap.since += away
        for actor in self.actors.unsealed():
            if away > self._config.lease_s / 2:  # it is the learner that did not listen
                actor.heard += away
            if now - actor.heard > self._config.lease_s:
                self.seal(actor, f"the actor was silent for {self._config.lease_s:g} s")
        if self.waiting_for and now - self._tried >= RETRY:
            self._flush()

    def close(self) -> None:
        """Seals all that is open: the learner stops."""
        for actor in self.actors.unsealed():
            self.seal(actor, "the learner stopped")
        self._flush()

    def _flush(self) -> None:
        self._tried = self._clock()
        while self._pending:
            first = self._pending[0]
            try:
                path = self._store.write(first.episode, first.content)
            except NoSpace as error:
                self.waiting_for = str(error)
                return
            self._pending.popleft()
            self.pending_bytes -= first.size
            first.actor.next_seq = first.episode.next_seq
            self.actors.touch(first.actor)
            if path is not None:
                self._written(path, first.episode)
        self.waiting_for = ""
