"""The learner's thread: takes messages out of an inbox, trains, publishes and saves."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from functools import partial

from rclpy.node import Node
from rclpy.task import Future

from serl_interfaces.msg import Relabel, Transition
from serl_interfaces.srv import SaveCheckpoint
from serl_learner.learner_report import Meter, overfull
from serl_learner.learner_session import LearnerSession
from serl_learner.rewards.goals import Goals
from serl_learner.ros_publications import Publications
from serl_learner.ros_records import record_from_msg, relabel_from_msg
from serl_learner.ros_tensors import MalformedMessage

INBOX = 4096
"""Messages that may wait for the worker; more are dropped, and sent again by their actor."""
ACK_PERIOD = 1.0
"""Longest time between two acknowledgements [s]."""
METRICS_PERIOD = 2.0
"""Between two messages on `metrics` [s]."""
IDLE_WAIT = 0.1
"""How long the worker waits for a message when no block is due [s]."""


class LearnerWorker:
    """One thread around a session; the node's callbacks only put messages into the inbox."""

    def __init__(
        self,
        node: Node,
        session: LearnerSession,
        checkpoint_every: float,
        goals: Callable[[], Goals] | None = None,
    ) -> None:
        """Saves every `checkpoint_every` [s]; does nothing before `start`. `goals` makes what
        VICE needs."""
        self._load_goals = goals
        self.session = session
        self.failure: Exception | None = None
        self.loaded = False
        self._log = node.get_logger()
        self._out = Publications(node)
        self._checkpoint_every = checkpoint_every
        self._inbox: queue.Queue[Callable[[], None]] = queue.Queue(INBOX)
        self._dropped = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)

    def start(self) -> None:
        """Begins with what is on disk, then takes messages."""
        self._thread.start()

    # From other threads

    @property
    def busy(self) -> bool:
        """Messages wait."""
        return not self._inbox.empty()

    def put(self, message: Transition | Relabel) -> None:
        """Takes a message; drops it if too many wait."""
        try:
            self._inbox.put_nowait(partial(self._receive, message))
        except queue.Full:
            self._dropped += 1

    def save(self, request: SaveCheckpoint.Request, answer: Future) -> None:
        """Saves when it is this request's turn; the answer is (success, message)."""
        try:
            self._inbox.put_nowait(partial(self._save, request, answer))
        except queue.Full:
            answer.set_result((False, f"{INBOX} messages wait already"))

    def stop(self, timeout: float) -> bool:
        """Lets it finish its block, seal and save; false: it is still at work after that [s]."""
        self._stopping.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self.failure is None:
            try:
                self.session.close()
            except OSError as error:
                self._log.warning(f"no last checkpoint: {error}")
            self._tell_notices()
        return not self.session.trainer.compiling

    # In its own thread

    def _run(self) -> None:
        try:
            if self._load_goals is not None and not self.session.serving:
                self.session.trainer.goals = self._load_goals()
            self.session.restore()
            self.loaded = True
            self._loop()
        except Exception as error:
            self.failure = error

    def _loop(self) -> None:
        now = time.monotonic()
        learner = self.session.learner
        meter = Meter(now, learner.updates if learner else 0)
        metered = saved = now
        acked: float | None = None
        worked = told = False
        while not self._stopping.is_set():
            heard = self._drain(0.0 if worked else IDLE_WAIT)
            worked = self.session.work()
            self.session.look()
            self._tell_notices()
            encoded = self.session.take_unpublished()
            if encoded is not None:
                self._out.send_params(encoded)
            reward = self.session.trainer.take_unpublished_reward()
            if reward is not None:
                self._out.send_reward(reward)
            now = time.monotonic()
            if heard or worked or acked is None or now - acked > ACK_PERIOD:
                self._out.send_acks(self.session.acknowledgements())
                acked = now
            if now - metered > METRICS_PERIOD:
                values = meter.read(self.session, now)
                self._out.send_metrics(values | {"dropped_messages": self._dropped})
                if (message := overfull(self.session)) and not told:
                    self._log.warning(message)
                    told = True
                metered = now
            if now - saved > self._checkpoint_every:
                self.session.begin_checkpoint()
                saved = now

    def _drain(self, wait: float) -> bool:
        """Does what is in the inbox; whether there was anything."""
        jobs = 0
        try:
            while jobs < INBOX:
                job = self._inbox.get(timeout=wait) if wait and not jobs else self._inbox.get(False)
                job()
                jobs += 1
        except queue.Empty:
            pass
        return jobs > 0

    def _receive(self, message: Transition | Relabel) -> None:
        before = self.session.rejected
        convert = record_from_msg if isinstance(message, Transition) else relabel_from_msg
        try:
            self.session.receive(convert(message))
        except MalformedMessage as error:
            session = bytes(message.session)
            self.session.refuse(message.actor_id, session, int(message.seq), str(error))
        if self.session.rejected > before:
            self._log.warning(f"refused: {self.session.last_rejection}", throttle_duration_sec=1.0)

    def _save(self, request: SaveCheckpoint.Request, answer: Future) -> None:
        try:
            path = self.session.save_checkpoint(request.tag, int(request.policy_version))
            answer.set_result((True, str(path)))
        except (LookupError, OSError) as error:
            answer.set_result((False, str(error)))

    def _tell_notices(self) -> None:
        while self.session.notices:
            self._log.warning(self.session.notices.pop(0))
