"""Records of the scripted expert, and of one whose actions are disturbed, in one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from serl_actor.drivers import OperatorDriver
from serl_actor.rollout import Choice, Driver
from serl_franka_bringup.in_process_crew import InProcessCrew
from serl_franka_bringup.simulation_client import Setup
from serl_learner.types import Observation, Record, Source

PATIENCE = 10
"""Episodes for each that shall succeed."""


@dataclass(frozen=True)
class Recorded:
    """Whole episodes; those of the expert are demonstrations, the others count as a policy's."""

    training: list[Record]
    held_out: list[Record]


class NoisyExpert:
    """Does what the expert says, with noise on it, and recorded as if a policy had acted."""

    def __init__(self, expert: OperatorDriver, noise: float, seed: int) -> None:
        """`noise`: standard deviation of every component of an action."""
        if noise < 0.0:
            raise ValueError(f"noise is {noise}, expected at least 0")
        self._expert, self._noise = expert, noise
        self._rng = np.random.default_rng(seed)

    def begin(self) -> None:
        """The expert begins."""
        self._expert.begin()

    def choose(self, observation: Observation, state: Any) -> Choice:
        """A disturbed action, within its limits."""
        choice = self._expert.choose(observation, state)
        assert choice.intervention is not None
        dim = len(choice.action)
        action = choice.intervention.whole_action(state.tcp_pose, dim)
        action = action + self._noise * self._rng.normal(size=dim)
        return Choice(np.clip(action, -1.0, 1.0), Source.POLICY)


def record_both(setup: Setup, demos: int, steps: int, held_out: int, noise: float) -> Recorded:
    """The same records for the same seed of the setup.

    Args:
      demos: successful demonstrations to train on.
      steps: of the noisy expert to train on, at least.
      held_out: successful episodes of the noisy expert that only judge.
      noise: see NoisyExpert.

    Raises:
      RuntimeError: of PATIENCE episodes for each that is wanted too few succeed.
    """
    records: list[Record] = []
    crew = InProcessCrew(setup, log=records.append)
    noisy = NoisyExpert(OperatorDriver(setup.client, setup.task.action_dim), noise, setup.seed)
    _succeed(crew, crew.operator(), demos, "the expert's")
    done = 0
    while done < steps:
        done += crew.run(noisy).steps
    count = len(records)
    _succeed(crew, noisy, held_out, f"the expert's with noise {noise}")
    return Recorded(records[:count], records[count:])


def _succeed(crew: InProcessCrew, driver: Driver, wanted: int, whose: str) -> None:
    """Runs episodes until so many have succeeded."""
    succeeded = 0
    for _ in range(PATIENCE * wanted):
        succeeded += crew.run(driver).success
        if succeeded == wanted:
            return
    if wanted:
        raise RuntimeError(f"{succeeded} of {PATIENCE * wanted} of {whose} episodes succeeded")
