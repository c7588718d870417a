"""Keeps every entry until the learner has it: window, retransmission and credit, without ROS."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from serl_actor.entry_queue import EntryQueue, size_of
from serl_actor.journal import Journal
from serl_actor.spill import Spill, SpillDamaged, SpillFull
from serl_learner.episode_log import LogConfig
from serl_learner.types import Entry, Record

BURST = 0.01
"""Longest time for which entries are sent at one go [s]: others use the thread, too."""

LONGEST_RETRY = 8
"""Silence, in retry periods, up to which a learner that takes nothing is left alone."""


class SenderError(RuntimeError):
    """Records cannot reach the learner; the message says why."""


class QueueFull(SenderError):
    """No more may be kept; the message shows how much is, and the limits."""


class LearnerForgot(SenderError):
    """The learner asks for records that it had called durable: they are gone."""


@dataclass(frozen=True)
class SenderConfig:
    """Limits of what is under way.

    Attributes:
      window: records sent but not received by the learner; below the topic's QoS depth.
      memory_bytes: of records in memory that are not durable at the learner [byte].
      spill_bytes: of those beyond, in files of the run directory [byte]; 0: none.
      min_free_bytes: what the files leave free on the disk, for the learner [byte].
      retry_period: silence after which unreceived records are sent again [s]; twice as long each
        time that it does not help.
      keep_alive_period: after which an actor that has nothing to send says that it is there, by
        sending its newest record again [s]; well below the learner's lease.
    """

    window: int = 256
    memory_bytes: int = 64 * 2**20
    spill_bytes: int = 2**30
    min_free_bytes: int = LogConfig.min_free_bytes
    retry_period: float = 2.0
    keep_alive_period: float = 2.0

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window is {self.window}, expected at least 1")
        for name in ("memory_bytes", "spill_bytes", "min_free_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 0")
        for name in ("retry_period", "keep_alive_period"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} is {getattr(self, name)} s, expected more than 0")


class TransitionSender:
    """Thread-safe: the rollout puts, acks come from another thread, a timer polls.

    Whoever comes sends for a moment what is due, one thread at a time, so the order is kept; no
    lock is held while an entry is on its way out.
    """

    def __init__(
        self,
        config: SenderConfig,
        send: Callable[[Entry], None],
        clock: Callable[[], float],
        spill: Spill | None = None,
        witness: Journal | None = None,
        reachable: Callable[[], bool] = lambda: True,
    ) -> None:
        """`witness` writes down each entry before it is taken, or it is not taken.

        `reachable`: somebody listens; while nobody does, nothing is sent.
        """
        self._config = config
        self._send_out = send
        self._clock = clock
        self._witness = witness
        self._reachable = reachable
        self._sending = False
        self._patience = config.retry_period
        self._changed = threading.Condition()
        self._queue = EntryQueue(config.memory_bytes, spill)
        self._reserved = 0
        self._first_unsent = 0
        self._never_sent = 0
        self._received = 0
        self._durable = 0
        self._credit = 1  # the first record: a learner answers only who it has heard
        self._failure: SenderError | None = None
        self._last_progress = clock()
        self._newest_sent: Entry | None = None
        self._last_sent = clock()
        self.retransmitted = 0
        self.shortage = ""

    @property
    def unacknowledged(self) -> int:
        """Records kept because they are not durable at the learner yet."""
        return len(self._queue)

    @property
    def memory_bytes(self) -> int:
        """What they take in memory, about [byte]."""
        return self._queue.memory_bytes

    @property
    def disk_bytes(self) -> int:
        """What they take on disk [byte]."""
        return self._queue.disk_bytes

    @property
    def unreceived(self) -> int:
        """Records that have not arrived at the learner, as far as is known."""
        return max(0, self._queue.end - self._received)

    def check(self) -> None:
        """Raises LearnerForgot or SenderError if the session cannot go on."""
        if self._failure is not None:
            raise self._failure

    def fail(self, error: SenderError) -> None:
        """Ends the session: whoever puts or waits gets `error`."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def put(self, entry: Entry) -> None:
        """Takes the next entry and sends it if the window allows. Does not wait.

        A relabel leaves the room that is reserved for records.

        Raises:
          QueueFull: the learner has been away for too long; the entry is not taken.
          LearnerForgot, SenderError: the session cannot go on.
        """
        is_record = isinstance(entry, Record)
        with self._changed:
            self.check()
            self._require(1 if is_record else 1 + self._reserved, size_of(entry))
            try:
                if self._witness is not None:
                    self._witness.write(entry)
                self._queue.append(entry)
            except (OSError, SpillFull) as error:
                raise QueueFull(f"record {entry.seq} cannot be kept: {error}") from error
            if self._first_unsent <= self._received:  # nothing is under way: silence starts now
                self._last_progress = self._clock()
            self._reserved = max(0, self._reserved - is_record)
        self._send_due()

    def wait_for_credit(self, seq: int, timeout: float) -> bool:
        """Whether the record `seq` may be made; waits up to `timeout` [s] for it.

        Raises:
          LearnerForgot, SenderError: the session cannot go on.
        """
        return self._wait(lambda: seq < self._credit, timeout)

    def wait_until_received(self, end: int, timeout: float) -> bool:
        """Whether every record below `end` has arrived; waits and raises as `wait_for_credit`."""
        return self._wait(lambda: end <= self._received, timeout)

    def wait_until_durable(self, timeout: float) -> bool:
        """Whether every record is; waits and raises as `wait_for_credit`."""
        return self._wait(lambda: not self.unacknowledged, timeout)

    def wait_for_room(self, timeout: float, count: int = 1) -> bool:
        """Reserves room for `count` records; waits up to `timeout` [s] for it.

        If there is none, `shortage` says why, with the numbers. Raises as `wait_for_credit`.
        """
        with self._changed:
            self._queue.release()
        return self._wait(lambda: self._reserve(count), timeout)

    def acknowledge(self, received_seq: int, next_seq: int, credit: int) -> None:
        """The learner's word: what arrived, what is durable, how far the actor may go.

        A learner that was restarted may have received less than before: it gets that again.
        """
        with self._changed:
            if received_seq < self._durable:
                message = (
                    f"the learner asks for record {received_seq}, but had called all below "
                    f"{self._durable} durable: its log is gone; start the actor anew"
                )
                self.fail(LearnerForgot(message))
                return
            if received_seq != self._received:
                self._last_progress = self._clock()
                self._patience = self._config.retry_period
            if received_seq < self._received:
                self._first_unsent = min(self._first_unsent, received_seq)
            self._received = received_seq
            self._durable = max(self._durable, next_seq)
            self._credit = credit
            self._queue.drop_below(self._durable)
            self._changed.notify_all()
        self._send_due()

    def poll(self) -> None:
        """Sends on, sends again what was lost, and a sign of life; call often: it takes little."""
        if not self._reachable():
            self._patience = self._config.retry_period
            return
        config = self._config
        with self._changed:
            silent = self._clock() - self._last_progress
            if self._first_unsent > self._received and silent > self._patience:
                self._first_unsent = self._received
                self._last_progress = self._clock()
                self._patience = min(2 * self._patience, LONGEST_RETRY * config.retry_period)
        self._send_due()
        with self._changed:
            idle = not self._sending and self._clock() - self._last_sent > config.keep_alive_period
            if not idle or self._newest_sent is None:
                return
            self._last_sent = self._clock()
        self._send_out(self._newest_sent)

    def _wait(self, predicate: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            met = self._changed.wait_for(lambda: self._failure is not None or predicate(), timeout)
            self.check()
            return met

    def _reserve(self, count: int) -> bool:
        self.shortage = self._queue.lack(count) or self._unwitnessed(count)
        self._reserved = 0 if self.shortage else count
        return not self.shortage

    def _unwitnessed(self, count: int) -> str:
        try:
            if self._witness is not None:
                self._witness.require(count)
        except OSError as error:
            return f"{count} more cannot be written down: {error}"
        return ""

    def _require(self, count: int, size: int) -> None:
        shortage = self._queue.lack(count, size)
        if shortage:
            raise QueueFull(shortage)

    def _send_due(self) -> None:
        """Sends what the window allows, for a moment; what is left is for the next call.

        If another thread is at it, that one finds what is new.
        """
        if not self._reachable():
            return
        until = self._clock() + BURST
        with self._changed:
            if self._sending:
                return
            self._sending = True
        try:
            while (entry := self._take_due(until)) is not None:
                self._send_out(entry)
        except BaseException:
            self._sending = False
            raise

    def _take_due(self, until: float) -> Entry | None:
        """The next entry to send; None: none is due, or time is up, and nobody sends now."""
        with self._changed:
            queue = self._queue
            seq = max(self._first_unsent, self._received, queue.first)
            due = seq < min(self._received + self._config.window, queue.end)
            entry = None
            try:
                if due and self._clock() < until:
                    entry = queue.get(seq)
            except (SpillDamaged, OSError) as error:
                self.fail(SenderError(str(error)))
            if entry is None:
                self._sending = False
                return None
            self._first_unsent = seq + 1
            self.retransmitted += seq < self._never_sent
            self._last_sent = self._clock()
            if seq >= self._never_sent:
                self._never_sent, self._newest_sent = seq + 1, entry
            return entry
