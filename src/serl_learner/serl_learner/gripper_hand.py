"""What a gripper is commanded, what an action makes of it, and what is observed of it."""

from __future__ import annotations

import math

import numpy as np

GRIPPER = "state/gripper"
"""Of an observation, [2]: measured opening, and what is commanded: -1 closed, +1 open."""

CLOSE, OPEN = -0.5, 0.5
"""Below the one the last dimension of an action closes the gripper, above the other it opens it."""


class GripperHand:
    """The gripper of a task: `fixed` ones are left alone, others begin an episode open.

    Attributes:
      opening: commanded, 0 closed or 1 open, to be sent with every target; None: it is fixed.
    """

    def __init__(self, moves: bool) -> None:
        self._moves = moves
        self.opening: float | None = None
        self.begin()

    def begin(self) -> None:
        """An episode begins."""
        self.opening = 1.0 if self._moves else None

    def command(self, wish: float) -> float:
        """Takes over what an action's last dimension says; what happened then: -1 it closes, +1 it
        opens, 0 it stays. Who goes on asking for what is commanded moves nothing."""
        if self.opening is None or not math.isfinite(wish):
            return 0.0
        before = self.opening
        self.opening = 0.0 if wish < CLOSE else 1.0 if wish > OPEN else before
        return self.opening - before


def observe_gripper(measured: float, commanded: float) -> np.ndarray:
    """`state/gripper` of two openings, 0 closed .. 1 open: float32 [2]."""
    return np.clip(2.0 * np.array((measured, commanded)) - 1.0, -1.0, 1.0).astype(np.float32)
