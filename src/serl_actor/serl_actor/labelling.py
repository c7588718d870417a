"""Frames with labels to train a reward classifier on: who labels them, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from serl_actor.intervention import SUCCESS
from serl_actor.operator_keys import OperatorKeys
from serl_actor.rollout import Choice, Driver
from serl_controllers.arm import ArmState
from serl_learner.rewards.frames import STAGE as STAGE_LABEL
from serl_learner.rewards.frames import SUCCESS as SUCCESS_LABEL
from serl_learner.types import Observation, Source

BY = ("truth", "operator")


class Motion(Enum):
    """Of an arm that is not left to the episode's driver: the action along the tool's z axis, which
    points at the socket, is drawn from between these bounds."""

    OUT = (-0.25, -0.05)
    IN = (0.1, 0.4)
    BACK = (-0.5, -0.1)


@dataclass(frozen=True)
class LabelConfig:
    """What is recorded.

    Attributes:
      positives: frames that show the task solved.
      negatives: other frames.
      by: "truth": the pose threshold, for a simulator knows where the socket is; "operator": their
        key, which marks all frames that follow in the episode.
      stages: presses of the key that make a success; each is the next stage of the task.
      stay: frames for which a solved episode goes on as it was.
      around: frames after those, in which it is moved slowly out until it is no more solved, and
        in again: an expert's are pressed home, and a policy's need not be. An operator, whose mark
        stays, moves it within what is solved.
      back: frames of drawing back after those, by truth only: not solved, but nearly.
      random_every: every so many episodes chance drives (WanderingDriver), by truth only.
      attempts: episodes after which it ends in vain.
    """

    positives: int = 500
    negatives: int = 750
    by: str = "truth"
    stages: int = 1
    stay: int = 3
    around: int = 10
    back: int = 4
    random_every: int = 2
    attempts: int = 400

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise ValueError(f"by '{self.by}' is not {' or '.join(BY)}")
        if self.by == "truth" and self.stages != 1:
            raise ValueError(f"stages {self.stages}: the truth tells one, solved; by: operator?")
        for name in ("positives", "negatives", "stages", "random_every", "attempts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")
        for name in ("stay", "around", "back"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)} is below 0")


class Labelling:
    """The labels of one episode after the other, and when each is over."""

    def __init__(self, config: LabelConfig, keys: OperatorKeys) -> None:
        self._config = config
        self._keys = keys
        self._stage = self._since = self.positives = self.negatives = 0
        self._now = self.solved = False

    def begin(self) -> None:
        """An episode begins; keys pressed before it are forgotten."""
        self._keys.take(SUCCESS)
        self._stage = self._since = self.positives = self.negatives = 0
        self._now = self.solved = False

    def label(self, info: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The extras of the observation that the environment just gave, and its count."""
        self._stage = min(self._stage + self._keys.take(SUCCESS), self._config.stages)
        by_truth = self._config.by == "truth"
        now = bool(info["true_success"]) if by_truth else self._stage == self._config.stages
        self._now = now
        self.solved = self.solved or now
        self._since += self.solved
        self.positives += now
        self.negatives += not now
        extras = {SUCCESS_LABEL: np.asarray(now)}
        if self._config.stages > 1:
            extras[STAGE_LABEL] = np.asarray(self._stage, np.int32)
        return extras

    @property
    def motion(self) -> Motion | None:
        """How the arm moves next; None: as the episode's driver says."""
        config = self._config
        if config.by == "operator" or self._since <= config.stay:
            return None
        if self._since > config.stay + config.around:
            return Motion.BACK
        return Motion.OUT if self._now else Motion.IN

    @property
    def over(self) -> bool:
        """Enough was seen since the task was solved."""
        config = self._config
        back = config.back if config.by == "truth" else 0
        return self._since > config.stay + config.around + back


class LabelledDriver:
    """A driver whose episodes are labelled, and logged without being trained on."""

    def __init__(self, driver: Driver, labelling: Labelling, action_dim: int, seed: int) -> None:
        self._driver = driver
        self._action_dim = action_dim
        self._rng = np.random.default_rng(seed)
        self.labelling = labelling

    def begin(self) -> None:
        """The driver begins."""
        self._driver.begin()

    def choose(self, observation: Observation, state: ArmState) -> Choice:
        """The driver's choice; once the task was solved for long enough, unsteadily in, out and
        back."""
        motion = self.labelling.motion
        if motion is None:
            return replace(self._driver.choose(observation, state), source=Source.EVAL)
        action = np.zeros(self._action_dim)  # a gripper stays as it is
        action[:6] = self._rng.uniform(-0.3, 0.3, 6)
        action[2] = self._rng.uniform(*motion.value)
        return Choice(action, Source.EVAL)
