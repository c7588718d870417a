"""Who may drive the arm: the policy, chance, or an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import jax
import numpy as np

from serl_actor.policy_source import PolicySource, Snapshot
from serl_actor.robot_client import RobotClient, StaleState
from serl_actor.rollout import Choice, Driver
from serl_controllers.arm import ArmState
from serl_learner.policy import Policy
from serl_learner.types import Source

Observation = Mapping[str, np.ndarray]


class RandomDriver:
    """Uniform actions in [-1, 1]."""

    def __init__(self, action_dim: int, seed: int) -> None:
        self._action_dim = action_dim
        self._rng = np.random.default_rng(seed)

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """A random action."""
        return Choice(self._rng.uniform(-1.0, 1.0, self._action_dim), Source.RANDOM)


class PolicyDriver:
    """The newest policy, sampled: new parameters are swapped in between steps."""

    def __init__(self, policy: Policy, source: PolicySource, seed: int) -> None:
        self._policy = policy
        self._source = source
        self._key = jax.random.PRNGKey(seed)

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """A sampled action; StaleState while no parameters have arrived."""
        snapshot = self._source.swap()
        if snapshot is None:
            raise StaleState("no policy parameters have arrived yet")
        self._key, key = jax.random.split(self._key)
        action = self._policy.sample(snapshot.params, observation, key)
        return Choice(action, Source.POLICY, snapshot.version)


class CorrectedDriver:
    """A driver that an operator may take over from, at any step; nobody is waited for."""

    def __init__(self, driver: Driver, robot: RobotClient) -> None:
        self._driver = driver
        self._robot = robot

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The driver's choice, with what the operator says to the same state."""
        choice = self._driver.choose(observation, state)
        return replace(choice, intervention=self._robot.intervention(state))


class EvaluationDriver:
    """One fixed version of the policy, deterministic or sampled."""

    def __init__(self, policy: Policy, snapshot: Snapshot, deterministic: bool, seed: int) -> None:
        self._policy = policy
        self._snapshot = snapshot
        self._deterministic = deterministic
        self._key = jax.random.PRNGKey(seed)

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The policy's mode, or a sample."""
        params = self._snapshot.params
        if self._deterministic:
            action = self._policy.mode(params, observation)
        else:
            self._key, key = jax.random.split(self._key)
            action = self._policy.sample(params, observation, key)
        return Choice(action, Source.EVAL, self._snapshot.version)


class OperatorDriver:
    """An operator demonstrates: every step waits for what they say to its state."""

    def __init__(
        self, robot: RobotClient, action_dim: int, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self._robot = robot
        self._still = np.zeros(action_dim)
        self._report = report

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """What the operator says; StaleState if they say nothing in time."""
        intervention = self._robot.intervention(state)
        if intervention is None:
            raise StaleState("no operator answered the arm's state in time")
        self._report(intervention.device)
        return Choice(self._still, Source.DEMO, intervention=intervention)
