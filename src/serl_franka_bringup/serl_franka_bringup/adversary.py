"""A policy that wants nothing but a high output of the reward classifier, however it gets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from serl_actor.reward_judge import PROBABILITY, LocalJudge, Verdict
from serl_actor.rollout import Choice, Driver
from serl_controllers.arm import ArmState
from serl_franka_bringup.in_process_crew import InProcessCrew
from serl_franka_bringup.simulation_client import Setup
from serl_learner.types import Entry, Observation, Record, Relabel, Source

CEILING = 12.0
"""Log-odds beyond which there is nothing to gain [nats]: float32 ends a little above."""

Watch = Callable[[Sequence[Record]], None]


@dataclass(frozen=True)
class AttackConfig:
    """How hard it tries.

    Attributes:
      steps: of the environment, at least: the last episode is finished.
      climb: of these, so many at first follow the output upwards without learning.
      utd_ratio: critic updates for each step.
    """

    steps: int = 2000
    climb: int = 400
    utd_ratio: int = 2

    def __post_init__(self) -> None:
        for name in ("steps", "utd_ratio"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.climb < 0:
            raise ValueError(f"climb is {self.climb}, expected at least 0")


def score(probability: float) -> float:
    """What the adversary wants to be high, in [-1, 1]: the log-odds, for the probability itself is
    flat almost everywhere."""
    odds = math.log(max(probability, 1e-30)) - math.log(max(1.0 - probability, 1e-30))
    return max(-1.0, min(1.0, odds / CEILING))


class ScoredJudge:
    """A judge that remembers what it said last.

    Attributes:
      score: of the last observation.
    """

    def __init__(self, judge: LocalJudge) -> None:
        self._judge = judge
        self.score = -1.0

    def begin(self) -> None:
        """An episode begins."""
        self._judge.begin()

    def judge(self, observation: Observation, state: ArmState) -> Verdict:
        """The verdict; raises UnusableObservation."""
        verdict = self._judge.judge(observation, state)
        self.score = score(verdict.probability)
        return verdict


class Climber:
    """Goes on in a direction for as long as the score rises, else in another by chance."""

    def __init__(self, judge: ScoredJudge, action_dim: int, seed: int) -> None:
        self._judge = judge
        self._rng = np.random.default_rng(seed)
        self._before = 1.0
        self._direction = np.zeros(action_dim)

    def begin(self) -> None:
        """Forgets where it went."""
        self._before = 1.0

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The next step."""
        if self._judge.score <= self._before:
            self._direction = self._rng.uniform(-1.0, 1.0, len(self._direction))
        self._before = self._judge.score
        return Choice(self._direction, Source.RANDOM)


class Adversary(InProcessCrew):
    """Learns from the score alone: a step's reward is by how much it raised it.

    So the return is the score at the end, and with the agent's discount what it is worth to stay
    there. Whether the task is solved it is not told.
    """

    def __init__(self, setup: Setup, config: AttackConfig, session: bytes, watch: Watch) -> None:
        """`watch` gets the records of each episode, with their truth. Raises ValueError: the setup
        has no judge."""
        if setup.judge is None:
            raise ValueError("nobody judges: the reward is sparse")
        self._config = config
        self._scored = ScoredJudge(setup.judge)
        self._watch = watch
        self._episode: list[Record] = []
        agent = replace(setup.learner.agent, reward_range=(-2.0, 2.0))
        learner = replace(setup.learner, utd_ratio=config.utd_ratio, agent=agent)
        super().__init__(replace(setup, learner=learner), session=session)
        self._environment.judge = self._scored

    def attack(self) -> None:
        """All its steps."""
        climber = Climber(self._scored, self._setup.task.action_dim, self._seed)
        done = 0
        while done < self._config.steps:
            driver: Driver = climber if done < self._config.climb else self.policy(False)
            done += self.run(driver).steps
        self._setup.client.close()

    def _take(self, record: Entry) -> None:
        """Passes on the record before, whose reward is known now; success rewards nothing."""
        if isinstance(record, Relabel):
            return
        self._episode.append(record)
        if record.step > 0:
            before = self._episode[-2]
            reward = _score_of(record) - _score_of(before)
            super()._take(replace(before, reward=reward))
        if record.last:
            super()._take(record)
            episode, self._episode = self._episode, []
            self._watch(episode)


def _score_of(record: Record) -> float:
    return score(float(record.extras[PROBABILITY]))
