"""Carries out what the job commands: episodes on the robot, records to the learner."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from serl_actor.crew_ports import Board, Link
from serl_actor.drivers import (
    CorrectedDriver,
    EvaluationDriver,
    OperatorDriver,
    PolicyDriver,
    RandomDriver,
    WatchedDriver,
)
from serl_actor.environment import Environment
from serl_actor.frame_history import FrameHistory
from serl_actor.hold_switch import HoldGate
from serl_actor.job import JobFailed, Phase, Training
from serl_actor.job_memory import JobMemory
from serl_actor.labelling import LabelConfig, LabelledDriver, Labelling
from serl_actor.operator_keys import OperatorKeys
from serl_actor.outlet import Outlet
from serl_actor.policy_source import PolicySource, Snapshot
from serl_actor.recorder import Notes, Recorder
from serl_actor.robot_client import ResetRefused, RobotError
from serl_actor.rollout import Driver, Episode, by_pose, run_episode
from serl_actor.wandering import WanderingDriver
from serl_controllers.arm import ArmState
from serl_learner.policy import Policy
from serl_learner.types import Entry, Observation, Record

Watch = Callable[[Observation, ArmState], None]

ATTEMPTS = 5
"""Starts that the robot may refuse in a row."""

OPERATOR_POLL = 0.02
"""Between two looks whether an operator drives [s]."""

RESTART_STRIDE = 1_000_000
"""Keeps the starts of a training that goes on apart from those it had."""


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
        memory: JobMemory,
        watch: Watch = lambda observation, state: None,
        attend: Callable[[], None] = lambda: None,
        stack: int = 1,
        labels: LabelConfig | None = None,
        keys: OperatorKeys | None = None,
        notes: Notes = dict,
        keep_failures: bool = False,
        judge_demonstrations: bool = True,
    ) -> None:
        """`watch` sees every observation; `attend` is called before each episode of the job.

        `stack`: so many pictures of each camera the policy sees at once. `labels`, `keys`: who
        labels frames, if that is the job; the latter also have the switch that holds the arm.
        `notes`: see Recorder. `keep_failures`: demonstrations that fail are recorded, too.
        `judge_demonstrations`: if there is a judge; else the pose says what solves them.
        """
        self._environment = environment
        self._policy = policy
        self._source = source
        self._link = link
        self._board = board
        self._seed = seed
        self._lockstep = lockstep
        self._memory = memory
        self._watch = watch
        self._attend = attend
        self._stack = stack
        self._keep_failures = keep_failures
        self._judge_demonstrations = judge_demonstrations
        keys = keys or OperatorKeys()
        self._labelling = Labelling(labels or LabelConfig(), keys)
        self._gate = HoldGate(keys.hold, board, 0.05 if lockstep else 0.0)
        self._demonstrations: int | None = None
        self._held_before = 0  # demonstrations of earlier runs: these start elsewhere
        self._begun = 0
        self._outlet = Outlet(link.sender, board, lockstep, environment.hold)
        self.recorder = Recorder(session, actor_id, self._put, self._outlet.ready, notes)
        self._driver = ""
        self._phase = Phase.STARTING

    def say(self, phase: Phase, driver: str = "", detail: str = "") -> None:
        """Tells people what goes on."""
        self._phase, self._driver = phase, driver
        self._board.status(phase, driver, detail)

    def demonstrations(self) -> int:
        """Successful demonstrations the learner holds; waits until it is there.

        On a real arm only until it was there once: then what was sent since is counted.
        """
        if self._lockstep or self._demonstrations is None:
            self._wait(lambda: self._link.demonstrations is not None, "the learner")
        held = self._link.demonstrations
        if self._demonstrations is None:
            self._held_before = held or 0
        if self._demonstrations is None or (held or 0) > self._demonstrations:
            self._demonstrations = held
        return (held if self._lockstep else self._demonstrations) or 0

    def snapshot(self) -> Snapshot:
        """The newest policy; waits for one."""
        self._wait(lambda: self._source.swap() is not None, self._describe_lack)
        snapshot = self._source.current
        assert snapshot is not None
        return snapshot

    def acted(self) -> Snapshot:
        """The policy that acted last: parameters that arrived since are not swapped in."""
        return self._source.current or self.snapshot()

    def lacks_policy(self) -> bool:
        """The learner has neither demonstrations nor a policy: it waits for a first record.

        Waits for parameters that are being decoded.
        """
        self._wait(lambda: not self._source.arriving, "the learner's policy parameters")
        return self.demonstrations() == 0 and self._source.swap() is None

    def settle(self) -> None:
        """Waits until the learner has every record; not on a real arm."""
        self._outlet.settle()

    def deliver(self) -> None:
        """Waits until every record is stored, on a real arm, too; no episode may be under way."""
        self._outlet.deliver()

    def operator(self) -> Driver:
        """Demonstrates; in lockstep time stands still until they have spoken."""
        waiting = self._wait_for_operator if self._lockstep else None
        dim = self._environment.task.action_dim
        return OperatorDriver(self._environment.robot, dim, self._name_driver, waiting)

    def random(self) -> Driver:
        """Acts by chance."""
        return RandomDriver(self._environment.task.action_dim, self._seed)

    def labelled(self, by_chance: bool) -> Driver:
        """The operator, or chance, in episodes whose frames are labelled."""
        seed = self._seed + 3 + self._begun
        task = self._environment.task
        driver: Driver = WanderingDriver(task, seed) if by_chance else self.operator()
        return LabelledDriver(driver, self._labelling, task.action_dim, seed)

    def learner_trains(self) -> bool:
        """The learner has begun to update."""
        return self._link.training

    def policy(self, interventions: bool) -> Driver:
        """Acts with the newest policy, sampled; an operator may take over."""
        self._warm_up(self.snapshot())
        driver = PolicyDriver(self._policy, self._source, self._seed + 1, self._stack)
        if not interventions:
            return driver
        return CorrectedDriver(driver, self._environment.robot, self._name_driver)

    def evaluated(self, snapshot: Snapshot, deterministic: bool) -> Driver:
        """Acts with one fixed policy."""
        self._warm_up(snapshot)
        seed = self._seed + 2
        return EvaluationDriver(self._policy, snapshot, deterministic, seed, self._stack)

    def run(self, driver: Driver, seed: int | None = None) -> Episode:
        """One episode of the job; without `seed` the starts follow from the job's seed.

        Raises:
          JobFailed: the robot refused one start after the other.
        """
        self._attend()
        return self.play(driver, seed)

    def play(self, driver: Driver, seed: int | None = None) -> Episode:
        """One episode, of the job or not; raises as `run`."""
        refused = 0
        while refused < ATTEMPTS:
            self._board.check()
            self._gate.wait()
            try:
                episode = self._run_once(driver, seed)
                if episode.aborted:
                    self._board.waiting(f"{episode.waiting_for} ({episode.aborted})")
                    self._board.pause()
                return episode
            except ResetRefused as error:
                refused += 1
                self._board.waiting(f"a start pose that can be reached ({error})")
            except RobotError as error:
                self._board.waiting(f"{error.waiting_for} ({error})")
                self._board.pause()
        raise JobFailed(f"the robot refused {ATTEMPTS} starts in a row")

    def _run_once(self, driver: Driver, seed: int | None) -> Episode:
        if seed is None:
            sequence = np.random.SeedSequence((self._seed, self._held_before, self._begun))
            seed = int(sequence.generate_state(1)[0])
            self._begun += 1
        self._outlet.begin(self._environment.task.episode_steps)
        demonstrates = isinstance(driver, OperatorDriver)
        hold = demonstrates and not self._keep_failures
        watched = WatchedDriver(driver, self._watch)
        labelling = driver.labelling if isinstance(driver, LabelledDriver) else None
        with by_pose(self._environment, demonstrates and not self._judge_demonstrations):
            episode = run_episode(
                self._environment, watched, self.recorder, seed, hold, labelling, self._gate.held
            )
        if demonstrates and episode.success and self._demonstrations is not None:
            self._demonstrations += 1
        return episode

    def keep_best(self, snapshot: Snapshot) -> None:
        """Keeps this version for evaluation, here and at the learner, which may be away."""
        self._memory.keep_best(snapshot)
        self._link.save_best(snapshot.version)

    def remembered(self) -> Training:
        """What an earlier run of the same job came to; other starts follow than it had."""
        training = self._memory.recall()
        self._board.progress(training)
        best = training.best
        if best is not None and self._memory.confirmed_best() != best.version:
            self._link.save_best(best.version)
        self._begun = RESTART_STRIDE * (training.episodes > 0) + training.episodes
        return training

    def progress(self, training: Training) -> None:
        """Hears of every finished episode of warm-up and training."""
        self._memory.keep(training)
        self._board.progress(training)

    def _name_driver(self, name: str) -> None:
        if name != self._driver:
            self.say(self._phase, name)

    def _warm_up(self, snapshot: Snapshot) -> None:
        """Has the policy compiled before time counts."""
        zeros = {key: np.zeros(*spec) for key, spec in self._policy.spec.items()}
        nothing = FrameHistory(self._stack).extend(zeros)
        self._policy.mode(snapshot.params, nothing)
        self._policy.sample(snapshot.params, nothing, jax.random.PRNGKey(0))

    def _wait_for_operator(self) -> None:
        if not self._gate.held():
            self._board.waiting("an operator (a publisher on intervention)")
            self._board.pause(OPERATOR_POLL)

    def _put(self, entry: Entry) -> None:
        self._outlet.put(entry)
        if isinstance(entry, Record):
            self._board.step(entry)

    def _describe_lack(self) -> str:
        """What is waited for without a policy, and why it may be in vain."""
        if not self._source.refusal:
            return "the learner's policy parameters"
        seen = ", ".join(
            f"{k} {list(shape)}" for k, (shape, _) in sorted(self._policy.spec.items())
        )
        refusal = self._source.refusal
        return f"policy parameters that it can use ({refusal}; this actor observes {seen})"

    def _wait(self, predicate: Callable[[], bool], what: str | Callable[[], str]) -> None:
        while not self._link.wait(predicate, 0.5):
            self._link.sender.check()
            self._board.waiting(what if isinstance(what, str) else what())
