"""Who may drive the arm: the policy, chance, or an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from serl_actor.frame_history import FrameHistory
from serl_actor.policy_source import PolicySource, Snapshot
from serl_actor.robot_client import RobotClient, StaleState
from serl_actor.rollout import Choice, Driver
from serl_controllers.arm import ArmState
from serl_learner.policy import Policy
from serl_learner.types import Observation, Source

KEYS_AT_ONCE = 512


class KeyStream:
    """Endless PRNG keys of a seed, made many at a time: one at a time costs as much as acting."""

    def __init__(self, seed: int) -> None:
        self._key = jax.random.PRNGKey(seed)
        self._ready: list[np.ndarray] = []

    def next(self) -> np.ndarray:
        """A key that was not given out before."""
        if not self._ready:
            keys = np.asarray(jax.random.split(self._key, KEYS_AT_ONCE + 1))
            self._key = jnp.asarray(keys[0])
            self._ready = list(keys[:0:-1])
        return self._ready.pop()


class RandomDriver:
    """Uniform actions in [-1, 1]."""

    def __init__(self, action_dim: int, seed: int) -> None:
        self._action_dim = action_dim
        self._rng = np.random.default_rng(seed)

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """A random action."""
        return Choice(self._rng.uniform(-1.0, 1.0, self._action_dim), Source.RANDOM)


class PolicyDriver:
    """The newest policy, sampled as for training: new parameters are swapped in between steps."""

    def __init__(self, policy: Policy, source: PolicySource, seed: int, stack: int = 1) -> None:
        """`stack`: so many pictures of each camera the policy sees at once."""
        self._policy = policy
        self._source = source
        self._keys = KeyStream(seed)
        self._history = FrameHistory(stack)

    def begin(self) -> None:
        """Forgets the pictures seen."""
        self._history.begin()

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """A sampled action; StaleState while no parameters have arrived."""
        snapshot = self._source.swap()
        if snapshot is None:
            raise StaleState("no policy parameters have arrived yet")
        seen = self._history.extend(observation)
        action = self._policy.sample(snapshot.params, seen, self._keys.next())
        return Choice(action, Source.POLICY, snapshot.version)


class CorrectedDriver:
    """A driver that an operator may take over from, at any step; nobody is waited for."""

    def __init__(
        self,
        driver: Driver,
        robot: RobotClient,
        report: Callable[[str], None] = lambda _: None,
        name: str = "policy",
    ) -> None:
        """`report` hears who drives, at every step: the operator's device, or `name`."""
        self._driver = driver
        self._robot = robot
        self._report = report
        self._name = name

    def begin(self) -> None:
        """The driver begins."""
        self._driver.begin()

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The driver's choice, with what the operator says to the same state."""
        choice = self._driver.choose(observation, state)
        said = self._robot.intervention(state)
        self._report(said.device if said is not None and said.active else self._name)
        return replace(choice, intervention=said)


class WatchedDriver:
    """A driver whose observations somebody else sees, too."""

    def __init__(self, driver: Driver, watch: Callable[[Observation, ArmState], None]) -> None:
        self._driver = driver
        self._watch = watch

    def begin(self) -> None:
        """The driver begins."""
        self._driver.begin()

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The driver's choice."""
        self._watch(observation, state)
        return self._driver.choose(observation, state)


class EvaluationDriver:
    """One fixed version of the policy, deterministic or sampled."""

    def __init__(
        self, policy: Policy, snapshot: Snapshot, deterministic: bool, seed: int, stack: int = 1
    ) -> None:
        """`stack`: so many pictures of each camera the policy sees at once."""
        self._policy = policy
        self._snapshot = snapshot
        self._deterministic = deterministic
        self._keys = KeyStream(seed)
        self._history = FrameHistory(stack)

    def begin(self) -> None:
        """Forgets the pictures seen."""
        self._history.begin()

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The policy's mode, or a sample."""
        params, seen = self._snapshot.params, self._history.extend(observation)
        if self._deterministic:
            action = self._policy.mode(params, seen)
        else:
            action = self._policy.sample(params, seen, self._keys.next(), explore=False)
        return Choice(action, Source.EVAL, self._snapshot.version)


class OperatorDriver:
    """An operator demonstrates: the arm does what they say, and nothing else."""

    def __init__(
        self,
        robot: RobotClient,
        action_dim: int,
        report: Callable[[str], None] = lambda _: None,
        waiting: Callable[[], None] | None = None,
    ) -> None:
        """`report` hears the name of the device that spoke; `waiting` is called while nobody drives
        or presses a button, and may raise. Without it the arm keeps its pose for such a step."""
        self._robot = robot
        self._still = np.zeros(action_dim)
        self._report = report
        self._waiting = waiting

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """What the operator says to this state."""
        said = self._robot.intervention(state)
        while self._waiting is not None and (said is None or not (said.active or said.buttons)):
            self._waiting()
            said = self._robot.intervention(state)
        if said is not None:
            self._report(said.device)
        return Choice(self._still, Source.DEMO, intervention=said)
