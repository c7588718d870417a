"""What the learner node decides: which messages count, what is acked, what is kept. No ROS."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from serl_learner import checkpoint, resume
from serl_learner.actor_sessions import Acknowledgement, ActorSession, ActorSessions
from serl_learner.answers import UNLIMITED, acknowledge
from serl_learner.atomic_file import remove_unfinished
from serl_learner.checkpoint_writer import CheckpointWriter
from serl_learner.disk_space import DiskSpace
from serl_learner.episode_log import EpisodeLog, LogConfig
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import Episode, is_demonstration
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.log_retention import LogRetention
from serl_learner.params_codec import EncodedParams, write_params
from serl_learner.source_commit import source_commit
from serl_learner.trainer import SessionConfig, Trainer
from serl_learner.types import Entry, Record, Relabel, Source, spec_of
from serl_learner.validation import RejectedRecord, check_record, check_relabel

__all__ = ["BEST_POLICY", "UNLIMITED", "LearnerSession", "SessionConfig"]

BEST_POLICY = "best_policy.msgpack"


class LearnerSession:
    """Trainer, log and checkpoints of a run, for one thread.

    The first valid record or demonstration fixes the observation layout; only then is there a
    learner. A demonstration reaches it as a whole, once it ended in success; other records at
    once.
    """

    def __init__(
        self,
        config: LearnerConfig,
        session: SessionConfig,
        store: EpisodeStore,
        checkpoints: Path | None = None,
        log: LogConfig | None = None,
        clock: Callable[[], float] = time.monotonic,
        features: Path | None = None,
    ) -> None:
        """`clock` is steady [s]; `features` is for the trainer.

        Raises EpisodeError: what is kept of old files is damaged.
        """
        self.config, self.session, self._store = config, session, store
        log = log or LogConfig()
        self.trainer = Trainer(config, session, features, DiskSpace(log.min_free_bytes))
        self.rejected, self.last_rejection = 0, ""
        self.notices: list[str] = []
        hear = (self._on_sealed, self._on_written, self.notices.append)
        self._log = EpisodeLog(log, store, clock, *hear)
        how = (log.log_bytes, self.trainer.drop_features)
        self._retention = LogRetention(store.log, *how) if store.log else None
        self._writer = CheckpointWriter(checkpoints, store.space) if checkpoints else None
        self._positions: dict[str, int] = {}
        self._served: EncodedParams | None = None
        self._unserved: EncodedParams | None = None

    # Beginnings

    def serve(self, encoded: EncodedParams) -> None:
        """Gives out these parameters and nothing else; there will be no learner."""
        self._served = self._unserved = encoded

    def restore(self) -> None:
        """Goes on from the files: agent from the checkpoint, replay from the episodes.

        Raises:
          EpisodeError, CheckpointError: a file is damaged or of another layout than the rest.
        """
        trainer = self.trainer if self._learns else None
        if self._retention is not None:
            self._store.remove_unfinished()
            if self._writer is not None:
                remove_unfinished(self._writer.directory)
            resume.restore_retired(self._retention.retired, self.actors, self.trainer)
        if trainer is not None and self._writer is not None:
            directory = self._writer.directory
            say = self.notices.append
            self._positions = resume.restore_agent(trainer, directory, self._store, say)
        if trainer is not None or self._store.keeps_log:
            missing = resume.restore_log(
                self._store, self.actors, self._retention, trainer, self._positions
            )
            resume.check_complete(self.trainer, self._store, missing, self.notices.append)
        if self.recording:
            self.trainer.counted.demonstrations = resume.count_demonstrations(self._store)
        self._limit_log()
        self.trainer.publish()

    # Messages

    def receive(self, entry: Entry) -> None:
        """Takes the next entry of its session, with those that came before their turn.

        A duplicate, or one after a gap, changes nothing. One that is refused uses up its number,
        so that the session goes on.
        """
        following: Entry | None = entry
        while following is not None:
            actor = self._log.admit(entry.actor_id, entry.session, following.seq, following)
            if actor is None:
                return
            self._take_admitted(actor, following)
            following = actor.take_next()

    def _take_admitted(self, actor: ActorSession, entry: Entry) -> None:
        try:
            if isinstance(entry, Relabel):
                self._take_relabel(entry)
            else:
                self._take(actor, entry)
        except RejectedRecord as error:
            self._count_rejection(str(error))
            self._log.refuse(actor, entry.seq)
            return
        self._log.append(actor, entry)

    def refuse(self, actor_id: str, session: bytes, seq: int, reason: str) -> None:
        """Counts a message that could not be decoded; its number is used up."""
        self._count_rejection(reason)
        actor = self._log.admit(actor_id, session, seq)
        if actor is None:
            return
        self._log.refuse(actor, seq)
        following = actor.take_next()
        if following is not None:
            self.receive(following)

    def _take(self, actor: ActorSession, record: Record) -> None:
        trainer = self.trainer
        spec = trainer.spec or spec_of(record.observation)
        rewards = self.config.agent.target_range
        check_record(record, spec, self.session.action_dim, rewards)
        if record.episode < actor.next_episode:
            raise RejectedRecord(
                f"record {record.seq} of actor {record.actor_id!r}: episode {record.episode} is"
                f" sealed, the next one is {actor.next_episode}"
            )
        self._log.begin(actor, record.episode)
        if not self._learns:
            return
        if trainer.spec is None:
            trainer.start(spec)
            trainer.notice(record.policy_version)
            trainer.publish()
        trainer.notice(record.policy_version)
        if record.source != Source.DEMO:
            trainer.offer(record)

    def _take_relabel(self, relabel: Relabel) -> None:
        check_relabel(relabel, self.config.agent.target_range)
        if self.learner is not None:
            self.trainer.offer(relabel)

    def _on_sealed(self, episode: Episode) -> None:
        if is_demonstration(episode) and self._learns:
            self.trainer.learn(episode)
        elif is_demonstration(episode) and self.recording:
            self.trainer.counted.demonstrations += 1
        if not episode.complete:
            self.trainer.break_off(episode.session)

    def _on_written(self, path: Path, episode: Episode) -> None:
        self.trainer.keep_features(path, episode)
        if self._retention is None or path.parent != self._store.log or self.learner is None:
            return
        self._retention.note(path, episode)
        self._limit_log()

    def _limit_log(self) -> None:
        if self._retention is not None and self.learner is not None:
            self.notices += self._retention.limit(*self.learner.capacities)

    def _count_rejection(self, reason: str) -> None:
        self.rejected += 1
        self.last_rejection = reason

    # What it is at

    @property
    def actors(self) -> ActorSessions:
        """The sessions that were heard of."""
        return self._log.actors

    @property
    def learner(self) -> Learner | None:
        """The learner, once there is one."""
        return self.trainer.learner

    @property
    def serving(self) -> bool:
        """Gives out one policy and learns nothing."""
        return self._served is not None

    @property
    def recording(self) -> bool:
        """Logs what it receives and learns nothing."""
        return not self.session.learning and not self.serving

    @property
    def _learns(self) -> bool:
        return self.session.learning and not self.serving

    @property
    def pending_bytes(self) -> int:
        """Sealed episodes that wait in memory for room on the disk."""
        return self._log.pending_bytes

    @property
    def waiting_for(self) -> str:
        """Why sealed episodes are not on disk; empty if they are."""
        return self._log.waiting_for

    def work(self) -> bool:
        """Does the block that is due, if one is; whether there was."""
        return not self.serving and self.trainer.work()

    def look(self) -> None:
        """What is due from time to time: leases, and writes that found no room."""
        if self.waiting_for:
            self._limit_log()
        self._log.look()
        for entry in self._log.take_beyond_gaps():
            self.receive(entry)
        failure = self._writer.take_failure() if self._writer else None
        if failure is not None:
            self.notices.append(f"no checkpoint, the previous one stays: {failure}")

    # What others get

    def take_unpublished(self) -> EncodedParams | None:
        """Parameters to publish now; each version once."""
        served, self._unserved = self._unserved, None
        return served or self.trainer.take_unpublished()

    @property
    def newest_params(self) -> EncodedParams | None:
        """The parameters that were given out last; from any thread."""
        published = self.trainer.published
        return self._served or (published.newest if published else None)

    def acknowledgements(self) -> list[Acknowledgement]:
        """One for each actor heard since the last call, or else for the newest one."""
        actors = self.actors.take_touched() or [self.actors.newest or ActorSession("", bytes(16))]
        return [acknowledge(actor, self.trainer, self._learns) for actor in actors]

    # What is kept

    def begin_checkpoint(self) -> None:
        """Takes a snapshot and writes it in the background, if there is something to save."""
        if self._writer is not None and self.learner is not None:
            self._writer.submit(self._snapshot(self.learner))

    def save_checkpoint(self, tag: str = "", version: int = 0) -> Path:
        """Writes a complete checkpoint, or with the tag "best" a published version; its path.

        Raises:
          LookupError: there is nothing to save, or nowhere, or the version is `NOT_KEPT`.
          OSError: it cannot be written; what was there stays.
        """
        if self._writer is None:
            raise LookupError("checkpoint_dir is not set")
        published = self.trainer.published
        if self.learner is None or published is None:
            raise LookupError("there is no agent yet: no record and no demonstration came")
        if tag not in ("", "best"):
            raise LookupError(f'tag {tag!r} is unknown; known are "" and "best"')
        if tag == "best":
            path = self._writer.directory / BEST_POLICY
            encoded = published.find(version)
            with self._store.space.room(path.parent, len(encoded.data)):
                write_params(path, encoded)
            self.trainer.save_reward(path.parent)
            return path
        return self._writer.write(self._snapshot(self.learner))

    def _snapshot(self, learner: Learner) -> checkpoint.Snapshot:
        if not self.trainer.behind:
            self._positions = self.actors.positions()
        version = self.trainer.published.version if self.trainer.published else 0
        return checkpoint.take(learner, version, self._positions, source_commit())

    def close(self) -> None:
        """Seals what is open, as far as there is room, and writes a checkpoint.

        Raises OSError: the checkpoint cannot be written; the previous one stays.
        """
        self._log.close()
        if self._writer is not None and self.learner is not None:
            self.save_checkpoint()
