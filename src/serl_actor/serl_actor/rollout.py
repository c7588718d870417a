"""One episode: a driver acts in the environment, and every step becomes a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.recorder import Recorder
from serl_actor.reward_judge import PROBABILITY
from serl_actor.robot_client import RobotError
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array
from serl_learner.rewards.frames import SUCCESS
from serl_learner.types import Observation, Source


class Cancelled(Exception):
    """The job was told to stop."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What a driver wants at one step; an active intervention takes the action's place."""

    action: Array
    source: Source
    policy_version: int = 0
    intervention: Intervention | None = None


class Driver(Protocol):
    """Who chooses actions."""

    def begin(self) -> None:
        """What was seen before does not lead to what comes: an episode begins, or goes on after a
        gap in its record."""
        ...

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The choice for one step. RobotError if there is none in time: the episode is aborted."""
        ...


class Labels(Protocol):
    """Labels the observations of an episode; see labelling.Labelling."""

    positives: int
    negatives: int
    solved: bool

    def begin(self) -> None: ...
    def label(self, info: Mapping[str, Any]) -> dict[str, np.ndarray]: ...
    @property
    def over(self) -> bool: ...


@dataclass(frozen=True)
class Episode:
    """How an episode went.

    Attributes:
      success: the task was solved.
      steps: control steps executed.
      total_reward: undiscounted return.
      intervened: steps that an operator drove.
      interventions: so often one took over.
      seconds: of robot time.
      aborted: why it was broken off; empty if it was not.
      refused: steps whose action was not finite: the arm held, nothing was stored.
      interrupted: steps after which a camera paused: the arm held, nothing was stored.
      waiting_for: if aborted, what must happen before it is worth trying again.
      true_success: by the pose in the end, where success is what a judge said; None: not known.
      positives: frames that were labelled as solved.
      negatives: frames that were labelled as not solved.
    """

    success: bool
    steps: int
    total_reward: float
    intervened: int
    seconds: float
    aborted: str = ""
    refused: int = 0
    interrupted: int = 0
    waiting_for: str = ""
    true_success: bool | None = None
    positives: int = 0
    negatives: int = 0
    interventions: int = 0

    @property
    def alone(self) -> bool:
        """It succeeded, and nobody took over: a success of the driver itself."""
        return self.success and not self.intervened


@contextmanager
def by_pose(environment: Environment, wanted: bool) -> Iterator[None]:
    """If it is wanted, the pose alone says what a success is, also where there is a judge."""
    judge = environment.judge
    environment.judge = None if wanted else judge
    try:
        yield
    finally:
        environment.judge = judge


def run_episode(
    environment: Environment,
    driver: Driver,
    recorder: Recorder,
    seed: int | None = None,
    hold: bool = False,
    labelling: Labels | None = None,
    held: Callable[[], bool] = lambda: False,
) -> Episode:
    """Runs one episode to its end.

    A stale or broken robot aborts it: the arm holds, and what was executed until then is kept.
    With `hold`, records are passed on only if the episode succeeds, as for demonstrations.
    With `labelling`, it says what is a success, and when the episode is over.
    While `held` says so the arm keeps its pose; what is executed then belongs to no step.

    Raises:
      RobotError: the reset failed, so no episode began.
      Cancelled: the driver or the record's sink was told to stop; recorded as aborted.
    """
    observation, info = environment.reset(seed=seed)
    recorder.begin(hold)
    driver.begin()
    run = _Run(environment, driver, recorder, labelling, held)
    run.begin(observation, info)
    aborted, waiting_for = "", ""
    try:
        while not run.ended:
            run.step()
    except RobotError as error:
        environment.hold()
        aborted, waiting_for = str(error), error.waiting_for
    except Cancelled:
        environment.hold()
        run.finish(aborted=True)
        raise
    run.finish(bool(aborted))
    return run.episode(aborted, waiting_for)


class _Run:
    """What is known of an episode while it runs."""

    def __init__(
        self,
        environment: Environment,
        driver: Driver,
        recorder: Recorder,
        labelling: Labels | None,
        held: Callable[[], bool],
    ) -> None:
        self._environment, self._driver, self._recorder = environment, driver, recorder
        self._labelling = labelling
        self._held = held
        self._interventions, self._intervening = 0, False
        self._steps, self._intervened, self._refused, self._interrupted = 0, 0, 0, 0
        self._total_reward = 0.0
        self._success, self._solved_steps = False, 0
        self.ended = False

    def begin(self, observation: Observation, info: Mapping[str, Any]) -> None:
        """The first observation."""
        if self._labelling is not None:
            self._labelling.begin()
        self._see(observation, info)
        self._start_ns = self._stamp_ns

    def step(self) -> None:
        """One control period, once nobody holds the arm."""
        if self._held():
            self._recorder.cut(self._observation, self._stamp_ns, self._extras)
            self._see(*self._environment.hold_while(self._held))
            self._driver.begin()
        choice = self._driver.choose(self._observation, self._environment.state)
        following, reward, terminated, truncated, info = self._environment.step(
            choice.action, choice.intervention
        )
        self._refused += info["refused"]
        self._interrupted += info["interrupted"]
        if info["refused"] or info["interrupted"]:
            self._recorder.cut(self._observation, self._stamp_ns, self._extras)
            self._driver.begin()
        else:
            self._record(choice, reward, terminated, truncated, info)
        # Only now: if the record is not taken, the last one must show what it would have shown.
        self._see(following, info)
        self._success, self._solved_steps = bool(info["success"]), info["solved_steps"]
        self.ended = terminated or truncated
        if self._labelling is not None:
            self._success, self._solved_steps = self._labelling.solved, 0
            limit = self._environment.task.episode_steps
            self.ended = truncated or self._labelling.over or self._steps >= limit

    def _see(self, observation: Observation, info: Mapping[str, Any]) -> None:
        self._observation, self._stamp_ns = observation, self._environment.state.stamp_ns
        self._truth = info["true_success"] if self._environment.judge is not None else None
        judged = _extras(info) if self._environment.judge is not None else {}
        self._extras = {**self._environment.taken, **judged}
        if self._labelling is not None:
            self._extras |= self._labelling.label(info)

    def _record(
        self, choice: Choice, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> None:
        source = choice.source if info["source"] is Source.POLICY else _intervened(choice.source)
        goes_on = self._labelling is not None
        self._recorder.step(
            self._observation,
            info["executed_action"],
            reward,
            terminated and not goes_on,
            truncated,
            source,
            choice.policy_version,
            self._stamp_ns,
            self._extras,
        )
        self._steps += 1
        self._total_reward += reward
        intervenes = source is Source.INTERVENTION
        self._intervened += intervenes
        self._interventions += intervenes and not self._intervening
        self._intervening = intervenes

    def finish(self, aborted: bool) -> None:
        """Records the last fresh observation as the final one."""
        self._recorder.end(
            self._observation,
            self._success,
            aborted,
            self._stamp_ns,
            self._extras,
            self._solved_steps,
        )

    def episode(self, aborted: str, waiting_for: str) -> Episode:
        """The outcome."""
        return Episode(
            self._success,
            self._steps,
            self._total_reward,
            self._intervened,
            1e-9 * (self._stamp_ns - self._start_ns),
            aborted,
            self._refused,
            self._interrupted,
            waiting_for,
            self._truth,
            self._labelling.positives if self._labelling else 0,
            self._labelling.negatives if self._labelling else 0,
            self._interventions,
        )


def _intervened(chosen: Source) -> Source:
    """An operator who demonstrates makes demonstrations, one in an evaluation nothing that is
    trained on; else they correct the policy."""
    return chosen if chosen in (Source.DEMO, Source.EVAL) else Source.INTERVENTION


def _extras(info: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What a judge said of an observation, and what the pose says, for the log."""
    extras = {}
    if info["probability"] is not None:
        extras[PROBABILITY] = np.asarray(info["probability"], np.float32)
    if info["true_success"] is not None:
        extras[SUCCESS] = np.asarray(info["true_success"], np.bool_)
    return extras
