"""The crew's way to the learner: when a record may be made, and what is said while it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from serl_actor.robot_client import RobotError
from serl_actor.transition_sender import QueueFull, TransitionSender
from serl_learner.types import Entry, Record, Source

FREE_SOURCES = (Source.DEMO, Source.EVAL)
"""Whose records cost no credit: they are not trained on, or are prior data."""

PATIENCE = 0.5
"""Between two words about what is waited for [s]."""


class Board(Protocol):
    """Where it is told; both raise Cancelled when the job must stop."""

    def waiting(self, what: str) -> None: ...
    def check(self) -> None: ...


class NoRoom(RobotError):
    """A record could not be kept in spite of the room that was reserved: the episode is over."""


class Outlet:
    """Waits for credit and room, then hands entries to the sender.

    In lockstep a record waits for its credit and its room. On a real arm nothing is waited for
    within an episode: room for all of it is reserved before it begins.
    """

    def __init__(
        self, sender: TransitionSender, board: Board, lockstep: bool, hold: Callable[[], None]
    ) -> None:
        """`hold` leaves the arm keeping its pose."""
        self._sender = sender
        self._board = board
        self._lockstep = lockstep
        self._hold = hold
        self._next_seq = 0

    def begin(self, steps: int) -> None:
        """Before the reset of an episode of at most so many steps.

        Each step may end a segment, whose final observation is a record of its own.
        """
        self._sender.check()
        if not self._lockstep:
            self._wait_for_room(2 * (steps + 1))

    def ready(self, record: Record) -> None:
        """Before a record is numbered and put; raises Cancelled, SenderError."""
        if not record.last:
            self._board.check()
        if not self._lockstep:
            return
        if record.source not in FREE_SOURCES and not record.last:
            while not self._sender.wait_for_credit(self._next_seq, PATIENCE):
                self._board.waiting("the learner's credit")
        self._wait_for_room(1)

    def put(self, entry: Entry) -> None:
        """Sends the next entry of the session; does not wait.

        Raises:
          NoRoom: a record cannot be kept.
          QueueFull: a relabel cannot be kept.
          SenderError: the session cannot go on.
        """
        try:
            self._sender.put(entry)
        except QueueFull as full:
            if not isinstance(entry, Record):
                raise
            self._hold()
            raise NoRoom(str(full), "room for more records at the learner") from full
        self._next_seq = entry.seq + 1

    def settle(self) -> None:
        """Waits until the learner has every record; not on a real arm."""
        while self._lockstep and not self._sender.wait_until_received(self._next_seq, PATIENCE):
            self._board.waiting("the learner to take all records")

    def deliver(self) -> None:
        """Waits until every record is durable at the learner: the end of a job, the arm held."""
        while not self._sender.wait_until_durable(PATIENCE):
            count = self._sender.unacknowledged
            self._board.waiting(f"the learner to store {count} records")

    def _wait_for_room(self, count: int) -> None:
        """Holds once if it has to wait; then the watchdog keeps the pose.

        To command the measured pose again and again would let a steady error move the arm.
        """
        held = False
        while not self._sender.wait_for_room(PATIENCE, count):
            if not held:
                self._hold()
                held = True
            self._board.waiting(f"room for more records at the learner: {self._sender.shortage}")
