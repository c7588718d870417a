"""Carries out what the job commands: episodes on the robot, records to the learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from serl_actor.drivers import EvaluationDriver, OperatorDriver, PolicyDriver, RandomDriver
from serl_actor.environment import Environment
from serl_actor.job import JobFailed, Phase, Training
from serl_actor.policy_source import PolicySource, Snapshot
from serl_actor.recorder import Recorder
from serl_actor.robot_client import ArmFault, RobotError
from serl_actor.rollout import Driver, Episode, run_episode
from serl_actor.transition_sender import TransitionSender
from serl_learner.policy import Policy
from serl_learner.types import Record, Source

FREE_SOURCES = (Source.DEMO, Source.EVAL)
"""Whose records cost no credit: they are not trained on, or are prior data."""

ATTEMPTS = 5
"""Resets that may fail in a row."""


class Link(Protocol):
    """The learner as the crew sees it."""

    sender: TransitionSender

    @property
    def demonstrations(self) -> int | None: ...
    def wait(self, predicate: Callable[[], bool], timeout: float) -> bool: ...
    def save_best(self, version: int) -> None: ...


class Board(Protocol):
    """Where the crew tells what goes on; `check` raises Cancelled when the job must stop."""

    def status(self, phase: Phase, driver: str, detail: str) -> None: ...
    def waiting(self, what: str) -> None: ...
    def check(self) -> None: ...
    def progress(self, training: Training) -> None: ...
    def step(self, record: Record) -> None: ...


class ActorCrew:
    """Implements job.Crew over an environment and a learner."""

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        source: PolicySource,
        link: Link,
        board: Board,
        session: bytes,
        actor_id: str,
        seed: int,
        lockstep: bool,
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._source = source
        self._link = link
        self._board = board
        self._seed = seed
        self._lockstep = lockstep
        self._episode_seed: int | None = seed
        self._recorder = Recorder(session, actor_id, self._put)
        self._last_seq = -1
        self._driver = ""
        self._phase = Phase.STARTING

    def say(self, phase: Phase, driver: str = "", detail: str = "") -> None:
        """Tells people what goes on."""
        self._phase, self._driver = phase, driver
        self._board.status(phase, driver, detail)

    def demonstrations(self) -> int:
        """Successful demonstrations the learner holds; waits until it is there."""
        self._wait(lambda: self._link.demonstrations is not None, "the learner")
        return self._link.demonstrations or 0

    def snapshot(self) -> Snapshot:
        """The newest policy; waits for one."""
        self._wait(lambda: self._source.swap() is not None, "the learner's policy parameters")
        snapshot = self._source.current
        assert snapshot is not None
        return snapshot

    def settle(self) -> None:
        """Waits until the learner has every record."""
        received = self._link.sender
        self._wait(lambda: received.received > self._last_seq, "the learner to take all records")

    def operator(self) -> Driver:
        """Demonstrates."""
        return OperatorDriver(self._environment.robot, 6, self._name_operator)

    def random(self) -> Driver:
        """Acts by chance."""
        return RandomDriver(6, self._seed)

    def policy(self) -> Driver:
        """Acts with the newest policy, sampled."""
        self.snapshot()
        return PolicyDriver(self._policy, self._source, self._seed + 1)

    def evaluated(self, snapshot: Snapshot, deterministic: bool) -> Driver:
        """Acts with one fixed policy."""
        return EvaluationDriver(self._policy, snapshot, deterministic, self._seed + 2)

    def run(self, driver: Driver, seed: int | None = None) -> Episode:
        """One episode; without `seed` the starts go on from the job's seed.

        Raises:
          JobFailed: the robot could not be reset, several times in a row.
        """
        if seed is None:
            seed, self._episode_seed = self._episode_seed, None
        for attempt in range(ATTEMPTS):
            self._board.check()
            try:
                hold = isinstance(driver, OperatorDriver)
                return run_episode(self._environment, driver, self._recorder, seed, hold)
            except ArmFault as error:
                self._board.waiting(f"arm/recover ({error})")
            except RobotError as error:
                self._board.waiting(f"the robot ({error}); attempt {attempt + 1} of {ATTEMPTS}")
        raise JobFailed(f"the robot could not be reset in {ATTEMPTS} attempts")

    def keep_best(self, snapshot: Snapshot) -> None:
        """Has the learner keep this version for evaluation."""
        self._link.save_best(snapshot.version)

    def progress(self, training: Training) -> None:
        """Hears of every finished training episode."""
        self._board.progress(training)

    def _name_operator(self, device: str) -> None:
        if device != self._driver:
            self.say(self._phase, device)

    def _put(self, record: Record) -> None:
        """Sends a record; in lockstep it first waits for the credit to make it."""
        if not record.last:
            self._board.check()
        if self._lockstep and record.source not in FREE_SOURCES and not record.last:
            while not self._link.sender.wait_for_credit(record.seq, 0.5):
                self._board.waiting("the learner's credit")
        self._link.sender.put(record)
        self._last_seq = record.seq
        self._board.step(record)

    def _wait(self, predicate: Callable[[], bool], what: str) -> None:
        while not self._link.wait(predicate, 0.5):
            self._board.waiting(what)
