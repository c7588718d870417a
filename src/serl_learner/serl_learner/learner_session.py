"""What the learner node decides: which records count, when to train, what to give out. No ROS."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from serl_learner import checkpoint
from serl_learner.actor_sessions import Acknowledgement, ActorSession, ActorSessions, Verdict
from serl_learner.episodes import EpisodeStore, check_episode, close_episode, is_demonstration
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.params_codec import EncodedParams, write_params
from serl_learner.policy import Policy
from serl_learner.published_params import PublishedParams
from serl_learner.types import ObservationSpec, Record, Source, spec_of
from serl_learner.validation import RejectedRecord, check_record

CHECKPOINT = "checkpoint.msgpack"
BEST_POLICY = "best_policy.msgpack"
UNLIMITED = 2**32
"""Credit of an actor that nothing holds back: records ahead of those that arrived."""


@dataclass(frozen=True)
class SessionConfig:
    """What a run adds to the learner's own configuration.

    Attributes:
      action_dim: size of the actions.
      seed: of the agent's initial parameters and of its sampling.
      training: false: records are kept, but no update is done.
      publish_every: blocks between two versions of the policy.
    """

    action_dim: int = 6
    seed: int = 0
    training: bool = True
    publish_every: int = 10

    def __post_init__(self) -> None:
        for name in ("action_dim", "publish_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")


class LearnerSession:
    """Learner, actors' sessions, episodes on disk and published parameters, for one thread.

    The first valid record or demonstration fixes the observation layout; only then is there a
    learner, and its update is compiled in a thread of its own. A demonstration reaches it as a
    whole, once it ended in success; other records at once.
    """

    def __init__(
        self,
        config: LearnerConfig,
        session: SessionConfig,
        store: EpisodeStore,
        checkpoints: Path | None = None,
    ) -> None:
        self.config = config
        self.session = session
        self.actors = ActorSessions()
        self.spec: ObservationSpec | None = None
        self.learner: Learner | None = None
        self.published: PublishedParams | None = None
        self.metrics: dict[str, float] = {}
        self.rejected = 0
        self.last_rejection = ""
        self._store = store
        self._checkpoints = checkpoints
        self._served: EncodedParams | None = None
        self._unpublished: EncodedParams | None = None
        self._published_block = 0
        self._compilation: threading.Thread | None = None
        self._touched: dict[bytes, ActorSession] = {}

    # Beginnings

    def serve(self, encoded: EncodedParams) -> None:
        """Gives out these parameters and nothing else; there will be no learner."""
        self._served = self._unpublished = encoded

    def restore(self) -> None:
        """Goes on from the files: agent from the checkpoint, replay from the episodes.

        Raises:
          EpisodeError, CheckpointError: a file is damaged or of another layout than the rest.
        """
        if self.serving:
            return
        saved = None if self._checkpoints is None else self._checkpoints / CHECKPOINT
        if saved is not None and saved.exists():
            self._start(checkpoint.spec_in(checkpoint.read_header(saved)))
        for episodes in (self._store.demonstrations(), self._store.logged()):
            for path, records in episodes:
                self._restore_episode(path, records)
        if self.learner is None or self.published is None:
            return
        if saved is not None and saved.exists():
            counted = self.learner.online_steps, self.learner.demonstrations
            self.published.notice(checkpoint.load(saved, self.learner))
            if self._store.keeps_log:  # then the log knows better what was received
                self.learner.online_steps, self.learner.demonstrations = counted
        self._publish()

    def _restore_episode(self, path: Path, records: list[Record]) -> None:
        spec = self.spec or spec_of(records[0].observation)
        check_episode(path, records, spec, self.session.action_dim)
        self._start(spec)
        self.actors.restore(records[-1])
        self._learn(records)

    def _learn(self, records: list[Record]) -> None:
        """A sealed episode into replay; a demonstration that failed is not for training."""
        demonstration = is_demonstration(records)
        for record in records:
            if self.learner is not None and (demonstration or record.source != Source.DEMO):
                self.learner.add(record)
            if self.published is not None:
                self.published.notice(record.policy_version)

    def _start(self, spec: ObservationSpec) -> None:
        """Fixes the layout, if it is not fixed."""
        if self.spec is not None:
            return
        self.spec = spec
        if self.serving:
            return
        dim = self.session.action_dim
        self.learner = Learner(self.config, spec, dim, self.session.seed)
        self.published = PublishedParams(Policy(spec, dim, self.config.agent).layout_hash)
        if self.session.training:
            self._compilation = threading.Thread(target=self.learner.compile, daemon=True)
            self._compilation.start()

    # Records

    def receive(self, record: Record) -> None:
        """Takes the next record of its session; a duplicate, or one after a gap, changes nothing.

        A record that is refused uses up its number, so that the session goes on.
        """
        actor = self._touch(record.actor_id, record.session)
        if self.actors.judge(actor, record.seq) is not Verdict.NEXT:
            return
        actor.received_seq += 1
        for older in self.actors.superseded(actor):
            self._seal(older, older.received_seq)
        try:
            self._take(actor, record)
        except RejectedRecord as error:
            self._count_rejection(str(error))

    def refuse(self, actor_id: str, session: bytes, seq: int, reason: str) -> None:
        """Counts a message that could not be decoded; its number is used up."""
        self._count_rejection(reason)
        actor = self._touch(actor_id, session)
        if self.actors.judge(actor, seq) is Verdict.NEXT:
            actor.received_seq += 1

    def _take(self, actor: ActorSession, record: Record) -> None:
        spec = self.spec or spec_of(record.observation)
        check_record(record, spec, self.session.action_dim)
        if record.episode < actor.next_episode:
            raise RejectedRecord(
                f"record {record.seq} of actor {record.actor_id!r}: episode {record.episode} is"
                f" sealed, the next one is {actor.next_episode}"
            )
        if self.spec is None:
            self._start(spec)
            self._publish()
        if actor.episode and actor.episode[0].episode != record.episode:
            self._seal(actor, record.seq)
        if self.published is not None:
            self.published.notice(record.policy_version)
        if self.learner is not None and record.source != Source.DEMO:
            self.learner.add(record)
        actor.episode.append(record)
        if record.last:
            self._seal(actor, record.seq + 1)

    def _seal(self, actor: ActorSession, next_seq: int) -> None:
        """Puts the open episode on disk; what is below `next_seq` is safe then."""
        records = close_episode(actor.episode)
        self._store.seal(records)
        if is_demonstration(records):
            self._learn(records)
        actor.episode = []
        actor.next_episode = records[0].episode + 1
        actor.next_seq = next_seq

    def _touch(self, actor_id: str, session: bytes) -> ActorSession:
        actor = self.actors.find(actor_id, session)
        self._touched[session] = actor
        return actor

    def _count_rejection(self, reason: str) -> None:
        self.rejected += 1
        self.last_rejection = reason

    # Training

    @property
    def serving(self) -> bool:
        """Gives out one policy and learns nothing."""
        return self._served is not None

    @property
    def compiling(self) -> bool:
        """Agent or update are being compiled: no block is done yet."""
        if self.spec is None or self.serving:
            return False
        return self.learner is None or bool(self._compilation and self._compilation.is_alive())

    def work(self) -> bool:
        """Does the block that is due, if one is; whether there was."""
        if self.learner is None or not self.session.training or self.compiling:
            return False
        metrics = self.learner.work()
        if metrics is None:
            return False
        self.metrics = metrics
        if self.learner.blocks - self._published_block >= self.session.publish_every:
            self._publish()
        return True

    def _publish(self) -> None:
        if self.learner is not None and self.published is not None:
            params = self.learner.policy_params()
            self._unpublished = self.published.publish(params, self.learner.updates)
            self._published_block = self.learner.blocks

    # What others get

    def take_unpublished(self) -> EncodedParams | None:
        """Parameters to publish now; each version once."""
        encoded, self._unpublished = self._unpublished, None
        return encoded

    @property
    def newest_params(self) -> EncodedParams | None:
        """The parameters that were given out last; from any thread."""
        return self._served or (self.published.newest if self.published else None)

    def acknowledgements(self) -> list[Acknowledgement]:
        """One for each actor heard since the last call, or else for the newest one."""
        actors = list(self._touched.values()) or [self.actors.newest or ActorSession("", bytes(16))]
        self._touched.clear()
        return [self._acknowledge(actor) for actor in actors]

    def _acknowledge(self, actor: ActorSession) -> Acknowledgement:
        learner = self.learner
        return Acknowledgement(
            actor_id=actor.actor_id,
            session=actor.session,
            next_seq=actor.next_seq,
            received_seq=actor.received_seq,
            credit=actor.received_seq + self._free_steps(),
            demonstrations=learner.demonstrations if learner else 0,
            updates=learner.updates if learner else 0,
            training=bool(learner and self.session.training and learner.training),
        )

    def _free_steps(self) -> int:
        """Records that may follow those that arrived.

        Each makes at most one online step, so the steps never exceed what the learner allows; and
        if none may follow, blocks are due, so it never stops for good. Records that make no step
        (last ones, demonstrations, evaluation) use up none for longer than until they arrive.
        """
        if not self.session.training or self.serving:
            return UNLIMITED
        if self.learner is None:
            return self.config.training_starts + self.config.max_lag
        return max(0, self.learner.allowed_steps() - self.learner.online_steps)

    def save_checkpoint(self, tag: str = "", version: int = 0) -> Path:
        """Writes a complete checkpoint, or with the tag "best" a published version; its path.

        Raises:
          LookupError: there is nothing to save, or nowhere; says what.
        """
        if self._checkpoints is None:
            raise LookupError("checkpoint_dir is not set")
        if self.learner is None or self.published is None:
            raise LookupError("there is no agent yet: no record and no demonstration came")
        if tag not in ("", "best"):
            raise LookupError(f'tag {tag!r} is unknown; known are "" and "best"')
        if tag == "best":
            path = self._checkpoints / BEST_POLICY
            write_params(path, self.published.find(version))
        else:
            path = self._checkpoints / CHECKPOINT
            checkpoint.save(path, self.learner, self.published.version, checkpoint.source_commit())
        return path
