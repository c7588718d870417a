"""One episode: a driver acts in the environment, and every step becomes a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.recorder import Recorder
from serl_actor.robot_client import RobotError
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array
from serl_learner.types import Source

Observation = Mapping[str, np.ndarray]


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


@dataclass(frozen=True)
class Episode:
    """How an episode went.

    Attributes:
      success: the task was solved.
      steps: control steps executed.
      total_reward: undiscounted return.
      intervened: steps that an operator drove.
      seconds: of robot time.
      aborted: why it was broken off; empty if it was not.
      refused: steps whose action was not finite: the arm held, nothing was stored.
      interrupted: steps after which a camera paused: the arm held, nothing was stored.
      waiting_for: if aborted, what must happen before it is worth trying again.
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


def run_episode(
    environment: Environment,
    driver: Driver,
    recorder: Recorder,
    seed: int | None = None,
    hold: bool = False,
) -> Episode:
    """Runs one episode to its end.

    A stale or broken robot aborts it: the arm holds, and what was executed until then is kept.
    With `hold`, records are passed on only if the episode succeeds, as for demonstrations.

    Raises:
      RobotError: the reset failed, so no episode began.
      Cancelled: the driver or the record's sink was told to stop; recorded as aborted.
    """
    observation, _ = environment.reset(seed=seed)
    recorder.begin(hold)
    driver.begin()
    run = _Run(environment, driver, recorder, observation)
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
        self, environment: Environment, driver: Driver, recorder: Recorder, first: Observation
    ) -> None:
        self._environment, self._driver, self._recorder = environment, driver, recorder
        self._observation = first
        self._start_ns = self._stamp_ns = environment.state.stamp_ns
        self._steps, self._intervened, self._refused, self._interrupted = 0, 0, 0, 0
        self._total_reward = 0.0
        self._success = False
        self.ended = False

    def step(self) -> None:
        """One control period."""
        choice = self._driver.choose(self._observation, self._environment.state)
        following, reward, terminated, truncated, info = self._environment.step(
            choice.action, choice.intervention
        )
        self._refused += info["refused"]
        self._interrupted += info["interrupted"]
        if info["refused"] or info["interrupted"]:
            self._recorder.cut(self._observation, self._stamp_ns)
            self._driver.begin()
        else:
            self._record(choice, reward, terminated, truncated, info)
        # Only now: if the record is not taken, the last one must show what it would have shown.
        self._observation, self._stamp_ns = following, self._environment.state.stamp_ns
        self._success = bool(info["success"])
        self.ended = terminated or truncated

    def _record(
        self, choice: Choice, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> None:
        source = choice.source if info["source"] is Source.POLICY else _intervened(choice.source)
        self._recorder.step(
            self._observation,
            info["executed_action"],
            reward,
            terminated,
            truncated,
            source,
            choice.policy_version,
            self._stamp_ns,
        )
        self._steps += 1
        self._total_reward += reward
        self._intervened += source is Source.INTERVENTION

    def finish(self, aborted: bool) -> None:
        """Records the last fresh observation as the final one."""
        self._recorder.end(self._observation, self._success, aborted, self._stamp_ns)

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
        )


def _intervened(chosen: Source) -> Source:
    """An operator who demonstrates makes demonstrations; else they correct the policy."""
    return Source.DEMO if chosen is Source.DEMO else Source.INTERVENTION
