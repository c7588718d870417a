"""What trains while records come in: the learner, its backlog, and the versions it gives out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from serl_learner.agents.sac import SACAgent
from serl_learner.disk_space import DiskSpace
from serl_learner.episodes import Episode, learned_entries
from serl_learner.feature_files import Frames
from serl_learner.frame_cache import FrameCache
from serl_learner.frame_ring import Frame
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.params_codec import EncodedParams
from serl_learner.policy import Policy
from serl_learner.published_params import PublishedParams
from serl_learner.rewards.goals import Goals
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.model_file import write_model
from serl_learner.rewards.model_header import VICE_MODEL
from serl_learner.rewards.published import encode_model
from serl_learner.types import Entry, ObservationSpec, Record, Source


@dataclass(frozen=True)
class SessionConfig:
    """What a run adds to the learner's own configuration.

    Attributes:
      action_dim: size of the actions.
      seed: of the agent's initial parameters and of its sampling.
      training: false: records are kept, but no update is done.
      learning: false: records are logged and nothing else; there is no learner.
      publish_every: blocks between two versions of the policy.
    """

    action_dim: int = 6
    seed: int = 0
    training: bool = True
    learning: bool = True
    publish_every: int = 10

    def __post_init__(self) -> None:
        for name in ("action_dim", "publish_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")


@dataclass(frozen=True)
class _Job:
    """Something for the learner to take; at most so many online steps and demonstrations."""

    do: Callable[[], object]
    steps: int = 0
    demonstrations: int = 0


@dataclass
class Counters:
    """What was counted before the records that a trainer takes."""

    blocks: int = 0
    cloned: int = 0
    online_steps: int = 0
    demonstrations: int = 0


class Trainer:
    """The learner of one observation layout, once that is known; compiled in its own thread.

    After a restart the log may hold more than the checkpoint had been trained on. That is the
    backlog: it is taken as it was the first time, with every block that is due done before the
    next record, and what comes meanwhile waits behind it.
    """

    def __init__(
        self,
        config: LearnerConfig,
        session: SessionConfig,
        features: Path | None = None,
        space: DiskSpace | None = None,
    ) -> None:
        """`features` is where those of logged frames are kept; without it they are not. ValueError:
        the actions are not of this agent."""
        config.agent.check_action_dim(session.action_dim)
        self._features = features
        self._space = space or DiskSpace()
        self.cache: FrameCache | None = None
        self.goals: Goals | None = None  # with VICE, to be set before there is a learner
        self.config = config
        self.session = session
        self.spec: ObservationSpec | None = None
        self.learner: Learner | None = None
        self.published: PublishedParams | None = None
        self.metrics: dict[str, float] = {}
        self.counted = Counters()
        self._backlog: deque[_Job] = deque()
        self._ahead = 0  # online steps that came while there was a backlog
        self._unpublished: EncodedParams | None = None
        self._unpublished_reward: EncodedParams | None = None
        self._published_block = 0
        self._compilation: threading.Thread | None = None

    def start(self, spec: ObservationSpec, agent: SACAgent | None = None) -> None:
        """Fixes the layout, if it is not fixed; goes on with `agent`, if there is one."""
        if self.spec is not None:
            return
        self.spec = spec
        dim = self.session.action_dim
        learner = Learner(self.config, spec, dim, self.session.seed, agent, self.goals)
        learner.blocks = self._published_block = self.counted.blocks
        learner.warm_start.cloned = self.counted.cloned
        learner.online_steps = self.counted.online_steps
        learner.demonstrations = self.counted.demonstrations
        self.learner = learner
        if self._features and learner.frames is not None and learner.frames.trunk is not None:
            self.cache = FrameCache(learner.frames, self._features, self._space)
        self.published = PublishedParams(Policy(spec, dim, self.config.agent).layout_hash)
        if self.session.training:
            self._compilation = threading.Thread(target=learner.compile, daemon=True)
            self._compilation.start()

    # What it learns from

    def offer(self, entry: Entry) -> None:
        """Takes an entry that just came in. Raises RejectedRecord."""
        assert self.learner is not None
        job = self._job(self.learner, entry)
        self._ahead = self._ahead + job.steps if self._backlog else 0
        self._take(job)

    def learn(self, episode: Episode) -> None:
        """Takes a whole demonstration."""
        for job in self._jobs(episode):
            self._take(job)

    def break_off(self, session: bytes) -> None:
        """Nothing follows on the newest record of this session."""
        if self.learner is not None:
            self._take(_Job(partial(self.learner.break_off, session)))

    def relearn(self, episode: Episode, trained_on: bool, path: Path | None = None) -> None:
        """Takes a file of the log, that at `path`, after a restart.

        `trained_on` says that the checkpoint knows it already; of others, what comes after the
        next block that is due goes into the backlog.
        """
        assert self.learner is not None
        frames = self.cache.restore(path, episode) if self.cache and path else {}
        for job in self._jobs(episode, frames):
            if not self._backlog and (trained_on or not self._work_due):
                job.do()
            else:
                self._backlog.append(job)
        for record in episode.records:
            self.notice(record.policy_version)

    def keep_features(self, path: Path, episode: Episode) -> None:
        """Those of an episode that was just logged at `path`, for the next restart."""
        if self.cache is not None:
            self.cache.keep(path, episode)

    def drop_features(self, path: Path) -> None:
        """Those of a file that is gone from the log."""
        if self.cache is not None:
            self.cache.files.remove(path)

    def notice(self, version: int) -> None:
        """This version of the policy was given out, or an actor uses it."""
        if self.published is not None:
            self.published.notice(version)

    def _jobs(self, episode: Episode, frames: Frames | None = None) -> Iterator[_Job]:
        assert self.learner is not None
        for entry in learned_entries(episode):
            yield self._job(self.learner, entry, (frames or {}).get(entry.seq))
        if not episode.complete:
            yield _Job(partial(self.learner.break_off, episode.session))

    def _job(self, learner: Learner, entry: Entry, frame: Frame | None = None) -> _Job:
        if not isinstance(entry, Record):
            return _Job(partial(learner.relabel, entry))
        demonstration = entry.source == Source.DEMO
        return _Job(
            partial(learner.add, entry, frame),
            steps=int(not demonstration and entry.source != Source.EVAL and not entry.last),
            demonstrations=int(demonstration and entry.last and entry.success),
        )

    def _take(self, job: _Job) -> None:
        if self._backlog or self._cloning:
            self._backlog.append(job)
        else:
            job.do()

    # What it does and gives out

    @property
    def _cloning(self) -> bool:
        """The warm start is under way: what comes meanwhile waits, so that it repeats exactly."""
        return self.session.training and bool(self.learner and self.learner.warm_start_due)

    @property
    def _work_due(self) -> bool:
        due = self.learner is not None and self.learner.blocks_due > 0
        return self._cloning or (due and self.session.training)

    @property
    def behind(self) -> bool:
        """There is a backlog: the log holds more than what was trained on."""
        return bool(self._backlog)

    @property
    def received_steps(self) -> int:
        """Online steps that it has, the backlog among it."""
        held = self.learner.online_steps if self.learner else 0
        return held + sum(job.steps for job in self._backlog)

    @property
    def demonstrations(self) -> int:
        """Successful ones that it has, the backlog among it."""
        held = (self.learner or self.counted).demonstrations
        return held + sum(job.demonstrations for job in self._backlog)

    @property
    def compiling(self) -> bool:
        """Agent or update are being compiled: no block is done yet."""
        if self.spec is None:
            return False
        return self.learner is None or bool(self._compilation and self._compilation.is_alive())

    def work(self) -> bool:
        """Does the block that is due, or a part of the warm start; whether there was one."""
        if self.learner is None or not self.session.training or self.compiling:
            return False
        while self._backlog and not self._work_due:
            self._backlog.popleft().do()
        ahead = self.learner.warm_start_ahead
        metrics = self.learner.work()
        if metrics is None:
            return False
        self.metrics = metrics
        begins = ahead and not self.learner.warm_start_ahead
        if begins or self.learner.blocks - self._published_block >= self.session.publish_every:
            self.publish()
        return True

    def free_steps(self) -> int:
        """Online steps that actors may make on top of those that arrived.

        They never exceed what the learner allows; and if none is free, blocks are due, so it
        never stops for good. Behind a backlog `max_lag` steps are free all the same: a restart
        does not keep an actor waiting until everything is caught up with.
        """
        if self.learner is None:
            return self.config.training_starts + self.config.max_lag
        if self._backlog:
            return max(0, self.config.max_lag - self._ahead)
        return max(0, self.learner.allowed_steps() - self.learner.online_steps)

    def publish(self) -> None:
        """Makes the next version of the policy, if there is a learner; and with VICE that of the
        reward, from the start."""
        if self.goals is not None:
            blocks = self.learner.blocks if self.learner else 0
            self._unpublished_reward = encode_model(self.reward_model(), blocks)
        if self.learner is not None and self.published is not None:
            if self.session.training and self.learner.warm_start_ahead:
                return  # nobody shall act with this policy
            params = self.learner.policy_params()
            self._unpublished = self.published.publish(params, self.learner.updates)
            self._published_block = self.learner.blocks

    def reward_model(self) -> RewardModel:
        """With VICE, its classifier as it is now."""
        assert self.goals is not None
        vice = self.learner.agent.vice if self.learner else self.goals.first
        assert vice is not None
        return self.goals.model(vice)

    def save_reward(self, directory: Path) -> None:
        """With VICE, writes its classifier as it is now; OSError: it cannot be written."""
        if self.goals is not None:
            write_model(directory / VICE_MODEL, self.reward_model())

    def take_unpublished_reward(self) -> EncodedParams | None:
        """A reward classifier to publish now; each version once."""
        encoded, self._unpublished_reward = self._unpublished_reward, None
        return encoded

    def take_unpublished(self) -> EncodedParams | None:
        """Parameters to publish now; each version once."""
        encoded, self._unpublished = self._unpublished, None
        return encoded
