"""A session over episodes in memory, and a clock that goes on when told."""

from __future__ import annotations

import time

import numpy as np
from toy import SMALL, record

from serl_learner.disk_space import DiskSpace
from serl_learner.episode_store import EpisodeStore
from serl_learner.learner import LearnerConfig
from serl_learner.learner_session import LearnerSession, SessionConfig

CONFIG = LearnerConfig(
    agent=SMALL,
    batch_size=8,
    utd_ratio=2,
    training_starts=4,
    max_lag=3,
    replay_bytes=2**16,
    prior_bytes=2**14,
)


class Files:
    """Episodes in memory, in place of files: a file holds the number of its episode.

    Attributes:
      kept: episode by path.
      free: bytes that the disk has left.
      failure: what writing raises.
    """

    def __init__(self):
        self.encoded = []
        self.kept = {}
        self.free = 2**40
        self.failure = None

    def encode(self, episode):
        self.encoded.append(episode)
        return f"{len(self.encoded) - 1:<100}".encode()

    def write(self, path, content):
        if self.failure is not None:
            raise self.failure
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.kept[path] = self.encoded[int(content)]

    def read(self, path):
        return self.kept[path]

    def in_log(self, directory):
        """Names and numbers of records of the files in a directory, the oldest first."""
        return {
            path.name: len(episode.records)
            for path, episode in sorted(self.kept.items())
            if path.parent == directory
        }


class Clock:
    """Steady time [s]."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Sessions:
    """Makes sessions over the same directories, as restarts do."""

    def __init__(self, directory, files, clock):
        self._directory, self._files, self._clock = directory, files, clock

    def __call__(self, log=None, config=CONFIG, keeps_log=True, restore=True, **fields):
        files, directory = self._files, self._directory
        space = DiskSpace(0, files.write, lambda _: files.free)
        log_directory = directory / "log" if keeps_log else None
        store = EpisodeStore(directory / "demos", log_directory, files.read, files.encode, space)
        settings = SessionConfig(action_dim=2, publish_every=2, **fields)
        session = LearnerSession(
            config,
            settings,
            store,
            directory / "checkpoints",
            log,
            self._clock,
            directory / "features",
        )
        if restore:
            session.restore()
        return session


def episode(number, first_seq, length=5, record=record, **fields):
    """Records of an episode of `length` steps and the last one, each made by `record`."""
    common = {"episode": number, **fields}
    success = common.pop("success", False)
    steps = [record(i, seq=first_seq + i, **common) for i in range(length)]
    end = {"seq": first_seq + length, "action": None, "last": True, "success": success}
    return [*steps, record(length, **(common | end))]


def send(session, entries):
    """The answer to these entries."""
    for entry in entries:
        session.receive(entry)
    return session.acknowledgements()[0]


def finish_compiling(session):
    """Waits until blocks can be done."""
    while session.trainer.compiling:
        time.sleep(0.01)


def train(session):
    """Does all blocks that are due."""
    finish_compiling(session)
    while session.work():
        pass


def lockstep(session, entries):
    """Sends entries, and does every block that is due before the next one."""
    for entry in entries:
        session.receive(entry)
        train(session)


def go_on(session, entries):
    """As the actor does after a restart: it sends what is not acked, from the start."""
    train(session)
    begin = max([0, *session.actors.positions().values()])
    lockstep(session, entries[begin:])


def state(session):
    """All that goes on from here."""
    learner = session.learner
    counters = (learner.online_steps, learner.blocks, learner.demonstrations)
    return learner.agent, learner.prior, learner.online, np.array(counters)
