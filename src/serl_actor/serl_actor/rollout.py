"""One episode: a driver acts in the environment, and every step becomes a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.recorder import Recorder
from serl_actor.robot_client import RobotError
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array
from serl_learner.types import Source

Observation = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Choice:
    """What a driver wants at one step; an active intervention takes the action's place."""

    action: Array
    source: Source
    policy_version: int = 0
    intervention: Intervention | None = None


class Driver(Protocol):
    """Who chooses actions."""

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
    """

    success: bool
    steps: int
    total_reward: float
    intervened: int
    seconds: float
    aborted: str = ""


def run_episode(
    environment: Environment, driver: Driver, recorder: Recorder, seed: int | None = None
) -> Episode:
    """Runs one episode to its end. A stale or broken robot, or an action that is not finite,
    aborts it: the arm holds, and what was executed until then is kept.

    Raises:
      RobotError: the reset failed, so no episode began.
    """
    observation, _ = environment.reset(seed=seed)
    recorder.begin()
    start_ns = environment.state.stamp_ns
    steps, total_reward, intervened = 0, 0.0, 0
    success, aborted, ended = False, "", False
    while not ended:
        before = environment.state
        try:
            choice = driver.choose(observation, before)
            following, reward, terminated, truncated, info = environment.step(
                choice.action, choice.intervention
            )
        except RobotError as error:
            environment.hold()
            aborted = str(error)
            break
        if info["refused"]:
            aborted = f"action {np.asarray(choice.action)} of {choice.source.name} is not finite"
            break
        source = choice.source if info["source"] is Source.POLICY else _intervened(choice.source)
        recorder.step(
            observation,
            info["executed_action"],
            reward,
            terminated,
            truncated,
            source,
            choice.policy_version,
            before.stamp_ns,
        )
        observation = following
        steps += 1
        total_reward += reward
        intervened += source is Source.INTERVENTION
        success = bool(info["success"])
        ended = terminated or truncated
    stamp_ns = environment.state.stamp_ns
    recorder.end(observation, success, bool(aborted), stamp_ns)
    seconds = 1e-9 * (stamp_ns - start_ns)
    return Episode(success, steps, total_reward, intervened, seconds, aborted)


def _intervened(chosen: Source) -> Source:
    """An operator who demonstrates makes demonstrations; else they correct the policy."""
    return Source.DEMO if chosen is Source.DEMO else Source.INTERVENTION
