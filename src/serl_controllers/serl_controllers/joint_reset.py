"""A joint reset from the order to its end, judged by the states that the arm gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from serl_controllers.arm import ArmMode, ArmState, Array

START_TIMEOUT = 1.0
"""Longest wait for the arm to begin [s]."""

TOLERANCE = 0.02
"""How far each joint may be from the target at the end [rad]."""

PEAK_VELOCITY = 15.0 / 8.0
"""Largest velocity of the motion, over its mean; see joint_move.hpp."""

_SPARE_TIME = 2.0  # beyond what the motion takes, before it counts as stuck [s]
_BROKEN = (ArmMode.REFLEX, ArmMode.FAULT, ArmMode.IDLE)


class Ending(Enum):
    """How a joint reset ended."""

    ARRIVED = "arrived"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True)
class Outcome:
    """How it ended, and one sentence for a person."""

    ending: Ending
    message: str


class JointReset:
    """Watches one motion; clocks are passed in, in seconds of any steady clock."""

    def __init__(self, target: Sequence[float], max_velocity: float, now: float) -> None:
        """`target` [7] [rad]; `max_velocity` of the fastest joint [rad/s]."""
        self._target = np.array(target, dtype=np.float64)
        self._max_velocity = max_velocity
        self._ordered_at = now
        self._way: float | None = None
        self._moved = False
        self._cancelled = False
        self.progress = 0.0

    def cancel(self) -> None:
        """The arm was told to stop."""
        self._cancelled = True

    def observe(self, state: ArmState, now: float) -> Outcome | None:
        """How it ended; None while it goes on. `progress` follows, 0 .. 1."""
        left = np.abs(self._target - state.q)
        if self._way is None:
            self._way = max(float(left.max()), 1e-9)
        self.progress = min(max(1.0 - float(left.max()) / self._way, self.progress), 1.0)
        if state.mode is ArmMode.JOINT_MOVE:
            self._moved = True
            return self._stuck(now)
        if state.mode in _BROKEN:
            return Outcome(Ending.FAILED, f"the arm is in mode {state.mode.name}")
        if self._moved or self._arrived(left):
            return self._ended(left)
        if now - self._ordered_at > START_TIMEOUT:
            return Outcome(Ending.FAILED, f"the arm did not begin to move within {START_TIMEOUT} s")
        return None

    def _arrived(self, left: Array) -> bool:
        return bool(left.max() <= TOLERANCE)

    def _ended(self, left: Array) -> Outcome:
        if self._arrived(left):
            self.progress = 1.0
            return Outcome(Ending.ARRIVED, "arrived")
        if self._cancelled:
            return Outcome(Ending.CANCELLED, "cancelled: the arm holds where it stopped")
        worst = int(left.argmax())
        return Outcome(
            Ending.FAILED,
            f"joint {worst + 1} stopped {left[worst]:.3f} rad from the target, allowed are "
            f"{TOLERANCE} rad: is something in the way?",
        )

    def _stuck(self, now: float) -> Outcome | None:
        assert self._way is not None
        limit = START_TIMEOUT + PEAK_VELOCITY * self._way / self._max_velocity + _SPARE_TIME
        if now - self._ordered_at > limit:
            return Outcome(Ending.FAILED, f"the motion was not over after {limit:.1f} s")
        return None
