"""Keys that an operator presses, from any thread, until somebody asks for them."""

from __future__ import annotations

import threading
from collections import Counter

from serl_actor.hold_switch import HoldSwitch
from serl_actor.veto_key import VetoKey


class OperatorKeys:
    """Counts what was pressed and not yet taken.

    Attributes:
      hold: the switch that holds the arm.
      veto: the key against a success.
    """

    def __init__(self, veto: VetoKey | None = None) -> None:
        self.hold = HoldSwitch()
        self.veto = veto or VetoKey()
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
