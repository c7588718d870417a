"""Keeps every record until the learner has it: window, retransmission and credit, without ROS."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from serl_learner.types import Record


class SenderError(RuntimeError):
    """Records cannot reach the learner; the message says why."""


class QueueFull(SenderError):
    """More records are unacknowledged than may be kept; the message shows both numbers."""


class LearnerForgot(SenderError):
    """The learner asks for records that it had called durable: they are gone."""


@dataclass(frozen=True)
class SenderConfig:
    """Limits of what is under way.

    Attributes:
      window: records sent but not received by the learner; below the topic's QoS depth.
      capacity: records kept that are not durable at the learner.
      retry_period: silence after which unreceived records are sent again [s].
    """

    window: int = 256
    capacity: int = 50_000
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.window <= self.capacity:
            raise ValueError(f"window {self.window} is not in 1..capacity ({self.capacity})")
        if self.retry_period <= 0.0:
            raise ValueError(f"retry_period is {self.retry_period} s, expected more than 0")


class TransitionSender:
    """Thread-safe: the rollout puts, acks come from another thread, a timer polls."""

    def __init__(
        self, config: SenderConfig, send: Callable[[Record], None], clock: Callable[[], float]
    ) -> None:
        self._config = config
        self._send = send
        self._clock = clock
        self._changed = threading.Condition()
        self._kept: deque[Record] = deque()
        self._first_unsent = 0
        self._received = 0
        self._durable = 0
        self._credit = 1  # the first record: a learner answers only who it has heard
        self._forgotten = ""
        self._last_progress = clock()
        self.retransmitted = 0

    @property
    def unacknowledged(self) -> int:
        """Records kept because they are not durable at the learner yet."""
        return len(self._kept)

    @property
    def received(self) -> int:
        """Every record below this number has arrived at the learner."""
        return self._received

    def put(self, record: Record) -> None:
        """Takes the next record and sends it if the window allows.

        Raises:
          QueueFull: the learner has been away for too long; the record is not taken.
          LearnerForgot: the session cannot go on.
        """
        with self._changed:
            self._check()
            if len(self._kept) >= self._config.capacity:
                raise QueueFull(
                    f"{len(self._kept)} records are unacknowledged, at most "
                    f"{self._config.capacity} are kept"
                )
            if self._first_unsent <= self._received:  # nothing is under way: silence starts now
                self._last_progress = self._clock()
            self._kept.append(record)
            self._send_window()

    def wait_for_credit(self, seq: int, timeout: float) -> bool:
        """Whether the record `seq` may be made; waits up to `timeout` [s] for it.

        Raises:
          LearnerForgot: the session cannot go on.
        """
        with self._changed:
            self._check()
            return self._changed.wait_for(lambda: seq < self._credit, timeout)

    def wait_for_room(self, timeout: float) -> bool:
        """Whether another record can be kept; waits up to `timeout` [s] for it."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._kept) < self._config.capacity, timeout)

    def acknowledge(self, received_seq: int, next_seq: int, credit: int) -> None:
        """The learner's word: what arrived, what is durable, how far the actor may go.

        A learner that was restarted may have received less than before: it gets that again.
        """
        with self._changed:
            if received_seq < self._durable:
                self._forgotten = (
                    f"the learner asks for record {received_seq}, but had called all below "
                    f"{self._durable} durable: its log is gone; start the actor anew"
                )
                return
            if received_seq != self._received:
                self._last_progress = self._clock()
            if received_seq < self._received:
                self._first_unsent = min(self._first_unsent, received_seq)
            self._received = received_seq
            self._durable = max(self._durable, next_seq)
            self._credit = credit
            while self._kept and self._kept[0].seq < self._durable:
                self._kept.popleft()
            self._send_window()
            self._changed.notify_all()

    def poll(self) -> None:
        """Sends again what was lost; call a few times per `retry_period`."""
        with self._changed:
            silent = self._clock() - self._last_progress
            if self._first_unsent > self._received and silent > self._config.retry_period:
                self.retransmitted += self._first_unsent - self._received
                self._first_unsent = self._received
                self._last_progress = self._clock()
            self._send_window()

    def _check(self) -> None:
        if self._forgotten:
            raise LearnerForgot(self._forgotten)

    def _send_window(self) -> None:
        if not self._kept:
            return
        first = self._kept[0].seq
        end = min(self._received + self._config.window, first + len(self._kept))
        for seq in range(max(self._first_unsent, first), end):
            self._send(self._kept[seq - first])
        self._first_unsent = max(self._first_unsent, end)
