"""The veto button of an operator: one press is against one success, and no other."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass
class _Press:
    """Of one device. `old`: it came before the step under way; `used`: against a success; `over`:
    against nothing more."""

    at: float
    held: bool = True
    old: bool = False
    used: bool = False
    over: bool = False


class VetoKey:
    """The presses of all devices, and what each was against; from any thread.

    A press is against what is called a success while it is held, or at the end of the step in which
    it came; one that was not is against the last success, if that can be taken back.

    Attributes:
      uses: successes that were prevented or taken back: one for each press.
    """

    def __init__(
        self, max_age: float = math.inf, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`max_age`: a device that was heard longer ago holds nothing [s]."""
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._presses: dict[str, _Press] = {}
        self.uses = 0

    def hear(self, device: str, down: bool) -> bool:
        """What a device says of its button now; whether it went down."""
        with self._lock:
            press, now = self._presses.get(device), self._clock()
            if down and (press is None or not press.held):
                self._presses[device] = _Press(now)
                return True
            if press is not None:
                press.at, press.held = now, down
            return False

    def begin(self) -> None:
        """An episode begins: only a press that is held and not used reaches into it."""
        with self._lock:
            for press in self._presses.values():
                press.over = press.over or press.used
            self._age()

    def passes(self, success: bool) -> bool:
        """Whether a step is a success, `success` being what it is called; a step is over."""
        with self._lock:
            against = self._live() if success else []
            self.uses += bool(against) and not any(press.used for press in against)
            for press in against:
                press.used = True
            self._age()
            return success and not against

    def take_back(self, overrule: Callable[[], T]) -> T | None:
        """What `overrule` returns, which takes back the last success; None: no press is left for
        that. If it raises, the press is not used."""
        with self._lock:
            unused = [press for press in self._live() if not press.used]
            if not unused:
                return None
            result = overrule()
            self.uses += 1
            for press in unused:
                press.used = press.over = True
            return result

    def count(self) -> None:
        """A success was taken back without a button."""
        with self._lock:
            self.uses += 1

    def _live(self) -> list[_Press]:
        now = self._clock()
        return [
            press
            for press in self._presses.values()
            if not press.over
            and not (press.old and not press.held)
            and not (press.held and now - press.at > self._max_age)
        ]

    def _age(self) -> None:
        for press in self._presses.values():
            press.old = True
