"""A pause and a stop of the arm that an operator sets and releases."""

from __future__ import annotations

import threading
from typing import Protocol

from serl_actor.robot_client import RobotError


class Stopped(RobotError):
    """An operator stopped the arm; it holds until it is released."""


class HoldSwitch:
    """Whether somebody holds the arm, and who; set from any thread.

    Attributes:
      why: for a person; empty: nobody does.
      stopped: not only paused.
      uses: so often it was set.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.why = ""
        self.stopped = False
        self.uses = 0

    def pause(self, who: str) -> None:
        """Holds the arm; the episode goes on afterwards."""
        with self._lock:
            self.uses += not self.why
            self.why = self.why or f"paused by {who}"

    def stop(self, who: str) -> None:
        """Holds the arm and ends the episode."""
        with self._lock:
            self.uses += not self.stopped
            self.why, self.stopped = f"stopped by {who}", True

    def release(self) -> None:
        """Lets the arm go on."""
        with self._lock:
            self.why, self.stopped = "", False

    def toggle(self, who: str) -> None:
        """Releases it if it is held, else pauses it."""
        if self.why:
            self.release()
        else:
            self.pause(who)


class Board(Protocol):
    """Where it is said that the arm is held; all may raise to cancel the job."""

    def check(self) -> None: ...
    def waiting(self, what: str) -> None: ...
    def pause(self, seconds: float = 0.5) -> None: ...


class HoldGate:
    """Where the rollout stops while the switch is set."""

    def __init__(self, switch: HoldSwitch, board: Board, moment: float = 0.05) -> None:
        """`moment`: between two looks at the switch [s]; 0 where a step of the robot takes time."""
        self._switch = switch
        self._board = board
        self._moment = moment

    def held(self) -> bool:
        """Whether the arm must keep its pose for a while; says so. Asked before every step.

        Raises:
          Stopped: the arm was stopped, so the episode is over.
        """
        self._board.check()
        if not (why := self._switch.why):
            return False
        if self._switch.stopped:
            raise Stopped(f"the arm was {why}", self._release())
        self._board.waiting(self._release())
        self._board.pause(self._moment)
        return True

    def wait(self) -> None:
        """Returns once nobody holds the arm."""
        while self._switch.why:
            self._board.waiting(self._release())
            self._board.pause(max(self._moment, 0.05))

    def _release(self) -> str:
        return f"the arm to be released (pause button, or service hold); {self._switch.why}"
