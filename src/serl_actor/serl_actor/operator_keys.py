"""Keys that an operator presses, from any thread, until somebody asks for them."""

from __future__ import annotations

import threading
from collections import Counter

from serl_actor.hold_switch import HoldSwitch


class OperatorKeys:
    """Counts what was pressed and not yet taken.

    Attributes:
      hold: the switch that holds the arm.
    """

    def __init__(self) -> None:
        self.hold = HoldSwitch()
        self._lock = threading.Lock()
        self._pressed: Counter[str] = Counter()

    def press(self, key: str) -> None:
        """One press."""
        with self._lock:
            self._pressed[key] += 1

    def take(self, key: str) -> int:
        """How often it was pressed since this was asked last."""
        with self._lock:
            return self._pressed.pop(key, 0)
