"""A scripted stand-in for a person who teleoperates an insertion: willing, slow and imprecise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from serl_controllers.arm import ArmState
from serl_controllers.geometry import (
    Array,
    Pose,
    quaternion_product,
    rotation_vector_from_quaternion,
)
from serl_sim.config import KINDS
from serl_sim.pick_config import PickConfig, Range

STREAM = 2
"""Keeps the expert's draws apart from what others draw with the same seed."""


@dataclass(frozen=True)
class ExpertConfig:
    """What the person knows of the task, and how well they do it; ranges are drawn uniformly.

    Attributes:
      kind: of the scene, and so which person: insertion or pick.
      target_position: tcp with the plug seated or the block in place, base frame [m], where
        nothing tells better.
      target_rpy: its roll, pitch, yaw about the fixed axes of the base [rad].
      slot_depth: height of the fixture's top over the target, along the target's -z [m].
      translation_scale: of an action of 1 [m].
      rotation_scale: of an action of 1 [rad].
      hover: height over the fixture's top from which the push begins [m].
      speed: largest translation action while moving freely.
      push: translation action downwards while pushing.
      turn: largest rotation action.
      look_error: standard deviation per axis of where they see the slot; a new look, a new
        error [m]. What they do not see at all is how the plug sits in the hand.
      yaw_error: standard deviation of the yaw they believe to be right [rad].
      look_steps: steps of a pause to look.
      hesitation: chance per step of stopping for a moment while moving.
      hesitation_steps: steps of such a stop.
      patience: steps of pushing without getting deeper before something else is tried.
      wiggle: translation action across while searching.
      wiggle_steps: steps of one such search.
      retreat: height they lift to over the fixture's top when the search does not help [m].
      tremor: standard deviation of the unsteadiness in each action.
      pick: what picking and placing takes beside. Of the above it goes by the scales, turn,
        yaw_error, hesitation and tremor.
    """

    kind: str = KINDS[0]
    target_position: tuple[float, float, float] = (0.5669, 0.0021, 0.0536)
    target_rpy: tuple[float, float, float] = (3.1280, 0.0177, 0.0213)
    slot_depth: float = 0.008
    translation_scale: float = 0.01
    rotation_scale: float = 0.06
    hover: Range = (0.003, 0.012)
    speed: Range = (0.45, 0.85)
    push: Range = (0.3, 0.5)
    turn: float = 0.6
    look_error: float = 0.0009
    yaw_error: float = 0.02
    look_steps: tuple[int, int] = (2, 5)
    hesitation: float = 0.06
    hesitation_steps: tuple[int, int] = (1, 4)
    patience: tuple[int, int] = (3, 7)
    wiggle: Range = (0.15, 0.4)
    wiggle_steps: tuple[int, int] = (5, 12)
    retreat: Range = (0.002, 0.006)
    tremor: float = 0.08
    pick: PickConfig = field(default_factory=PickConfig)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}, expected {' or '.join(KINDS)}")
        if min(self.translation_scale, self.rotation_scale) <= 0.0:
            raise ValueError(
                f"scales are {self.translation_scale} m, {self.rotation_scale} rad, expected > 0"
            )
        for name in ("hover", "speed", "push", "wiggle", "retreat"):
            low, high = getattr(self, name)
            if not 0.0 <= low <= high:
                raise ValueError(f"{name} is {low, high}, expected 0 <= low <= high")
        for name in ("look_steps", "hesitation_steps", "patience", "wiggle_steps"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise ValueError(f"{name} is {low, high}, expected 1 <= low <= high")
        if not 0.0 <= self.hesitation <= 1.0:
            raise ValueError(f"hesitation is {self.hesitation}, expected 0 .. 1")


class Phase(Enum):
    """What the person is about."""

    APPROACH = "approach"
    LOOK = "look"
    PUSH = "push"
    WIGGLE = "wiggle"
    RETREAT = "retreat"


class Tremor:
    """Unsteadiness of a hand, which is alike from one action to the next."""

    def __init__(self, rng: np.random.Generator, deviation: float) -> None:
        """`deviation` is the standard deviation of its noise in each action."""
        self._rng, self._deviation = rng, deviation
        self._now = np.zeros(6)

    def shake(self, action: Array) -> Array:
        """What becomes of an action [6], in [-1, 1]."""
        noise = self._rng.normal(0.0, self._deviation, size=6)
        self._now = 0.6 * self._now + 0.8 * noise
        return np.clip(action + self._now, -1.0, 1.0)


def turn_upright(tool: Pose, yaw: float, config: ExpertConfig) -> Array:
    """Rotation action [3] in the tool's frame, towards upright and a yaw [rad].

    `tool` is T_fixture_tcp.
    """
    goal = Pose.from_rotation_vector(np.zeros(3), (0.0, 0.0, yaw))
    turn = quaternion_product(tool.inverse().quaternion, goal.quaternion)
    action = 0.7 * rotation_vector_from_quaternion(turn) / config.rotation_scale
    return action.clip(-config.turn, config.turn)


class ScriptedExpert:
    """Acts on arm states alone; the same seed and states give the same actions.

    Implements experts.Expert.
    """

    gripper = 0.0
    """It stays closed on the plug."""

    def __init__(self, config: ExpertConfig) -> None:
        self._config = config
        self.reset(0)

    def reset(self, seed: int, fixture: Pose | None = None) -> None:
        """A new episode, and a new mood.

        Args:
          seed: of all they do.
          fixture: where the socket really is, T_base_fixture; None: at the configured target.
        """
        config = self._config
        if fixture is None:
            fixture = Pose.from_rpy(config.target_position, config.target_rpy)
        self._T_fixture_base = fixture.inverse()
        self._rng = np.random.default_rng((seed, STREAM))
        self._speed = self._rng.uniform(*self._config.speed)
        self._tremor = Tremor(self._rng, self._config.tremor)
        self._pause = 0
        self._look_again()
        self._yaw = self._rng.normal(0.0, self._config.yaw_error)
        self._hover = self._rng.uniform(*self._config.hover)
        self._enter(Phase.APPROACH, steps=0)

    @property
    def phase(self) -> Phase:
        """What the last action was for."""
        return self._phase

    def act(self, state: ArmState) -> Array:
        """Action [6] in [-1, 1]: translation and rotation vector in the current tcp frame."""
        tool = self._T_fixture_base @ state.tcp_pose
        height = -tool.position[2] - self._config.slot_depth
        self._decide(tool, height)
        step = self._translation(tool, height)
        rotation = turn_upright(tool, self._yaw, self._config)
        return self._tremor.shake(np.concatenate((tool.inverse().rotate(step), rotation)))

    def see_object(self, pose: Pose | None) -> None:
        """Nothing lies about in an insertion."""

    def begin_again(self) -> None:
        """Somebody else has moved the arm meanwhile: look, and approach from where it is."""
        self._pause = 0
        self._look_again()
        self._enter(Phase.APPROACH, steps=0)

    def distance(self, state: ArmState, lever: float) -> float:
        """How far the tool is from where it sits in the socket [m]; a turn counts as that far at
        the end of a `lever` [m]."""
        tool = self._T_fixture_base @ state.tcp_pose
        metres, radians = tool.distance(Pose.identity())
        return math.hypot(metres, lever * radians)

    def _enter(self, phase: Phase, steps: int) -> None:
        """`steps`: how long it may last, where the phase is timed."""
        self._phase = phase
        self._steps_left = steps
        self._deepest = math.inf

    def _look_again(self) -> None:
        """Where they now believe the slot to be, fixture frame [2] [m]."""
        self._aim = self._rng.normal(0.0, self._config.look_error, size=2)

    def _steps(self, bounds: tuple[int, int]) -> int:
        return int(self._rng.integers(bounds[0], bounds[1] + 1))

    def _decide(self, tool: Pose, height: float) -> None:
        """Moves on to another phase where this one is done or of no use.

        `height` is that of the tip over the fixture's top [m], negative in the slot.
        """
        if self._phase is Phase.APPROACH:
            away = np.linalg.norm(tool.position[:2] - self._aim)
            turned = abs(tool.rotation_vector[2] - self._yaw)
            if away < 0.002 and turned < 0.06 and height < self._hover + 0.004:
                self._start_look()
        elif self._phase is Phase.RETREAT:
            if height > self._lift - 0.001 or self._timed_out():
                self._start_look()
        elif self._phase is Phase.LOOK:
            if self._timed_out():
                self._start_push()
        elif self._deeper(height):
            # Getting somewhere: keep at it, straight down.
            if self._phase is Phase.WIGGLE and height < -0.001:
                self._start_push()
        elif self._timed_out():
            self._start_push_or_else(height)

    def _start_look(self) -> None:
        self._look_again()
        self._enter(Phase.LOOK, self._steps(self._config.look_steps))

    def _start_push(self) -> None:
        self._push = self._rng.uniform(*self._config.push)
        self._enter(Phase.PUSH, self._steps(self._config.patience))

    def _start_push_or_else(self, height: float) -> None:
        """Pushing or searching did not help: search, or lift and look again."""
        if self._phase is Phase.PUSH and (height < -0.001 or self._rng.uniform() < 0.7):
            self._direction = self._rng.uniform(0.0, 2.0 * math.pi)
            self._wiggle = self._rng.uniform(*self._config.wiggle)
            self._enter(Phase.WIGGLE, self._steps(self._config.wiggle_steps))
        else:
            self._lift = self._rng.uniform(*self._config.retreat)
            self._enter(Phase.RETREAT, 10)

    def _timed_out(self) -> bool:
        self._steps_left -= 1
        return self._steps_left < 0

    def _deeper(self, height: float) -> bool:
        """Whether the tip has gone noticeably deeper since the phase began."""
        if height < self._deepest - 0.0005:
            self._deepest = height
            return True
        return False

    def _translation(self, tool: Pose, height: float) -> Array:
        """Translation action [3] in the fixture frame."""
        config = self._config
        if self._pause > 0:
            self._pause -= 1
            return np.zeros(3)
        away = (self._aim - tool.position[:2]) / config.translation_scale
        if self._phase is Phase.LOOK:
            return np.array((*(0.5 * away).clip(-0.3, 0.3), 0.0))
        if self._phase is Phase.PUSH:
            return np.array((*(0.5 * away).clip(-0.2, 0.2), self._push))
        if self._phase is Phase.WIGGLE:
            self._direction += self._rng.normal(0.7, 0.5)
            across = self._wiggle * np.array((math.cos(self._direction), math.sin(self._direction)))
            return np.array((*(across + 0.3 * away.clip(-0.5, 0.5)), self._push))
        if self._phase is Phase.RETREAT:
            return np.array((0.0, 0.0, -0.5))
        if self._rng.uniform() < config.hesitation:
            self._pause = self._steps(config.hesitation_steps)
        # Not lower than the hover height before they are over the slot.
        wanted = self._hover + 0.2 * min(0.05, float(np.hypot(*away)) * config.translation_scale)
        step = np.array((*away, (height - wanted) / config.translation_scale))
        return step * min(1.0, self._speed / max(float(np.linalg.norm(step)), 1e-9))
