"""The learner as a node: transitions in, acknowledgements and policy parameters out."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from serl_controllers.ros_parameters import ParameterError, declare_from, refuse_unknown
from serl_controllers.ros_qos import TRANSITIONS
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Transition
from serl_interfaces.srv import GetPolicyParams, SaveCheckpoint
from serl_learner.checkpoint import CheckpointError
from serl_learner.episodes import EpisodeError, EpisodeStore
from serl_learner.learner import LearnerConfig
from serl_learner.learner_report import Meter, phase
from serl_learner.learner_session import BEST_POLICY, LearnerSession, SessionConfig
from serl_learner.params_codec import ParamsError, read_params
from serl_learner.ros_log import read_episode, write_episode
from serl_learner.ros_params import params_to_msg
from serl_learner.ros_publications import Publications
from serl_learner.ros_records import record_from_msg
from serl_learner.ros_tensors import MalformedMessage

INBOX = 4096
"""Messages that may wait for the worker; more are dropped, and sent again by their actor."""
ACK_PERIOD = 1.0
"""Longest time between two acknowledgements [s]."""
METRICS_PERIOD = 2.0
"""Between two messages on `metrics` [s]."""
IDLE_WAIT = 0.1
"""How long the worker waits for a message when no block is due [s]."""
WATCH_PERIOD = 0.5
"""Between two looks at what is waited for [s]."""
SILENCE = 3.0
"""An actor that sends nothing for so long is waited for [s]."""
STOP_LIMIT = 1.5
"""What the worker gets to finish when the node is asked to stop [s]."""


@dataclass(frozen=True)
class NodeConfig:
    """Where the node keeps things; an empty path keeps nothing.

    Attributes:
      demonstrations_dir: successful demonstrations, shared by all runs of a task.
      log_dir: all other episodes.
      checkpoint_dir: checkpoints, and the best policy.
      checkpoint_every_s: between two checkpoints [s].
      serve_checkpoint: a file written by `save_checkpoint` with the tag "best", or its directory:
        gives out that policy and learns nothing.
    """

    demonstrations_dir: str = ""
    log_dir: str = ""
    checkpoint_dir: str = ""
    checkpoint_every_s: float = 60.0
    serve_checkpoint: str = ""

    def __post_init__(self) -> None:
        if not self.checkpoint_every_s > 0.0:
            raise ValueError(f"checkpoint_every_s {self.checkpoint_every_s} is not above 0")


class LearnerNode(Node):
    """Callbacks put into an inbox; one worker thread takes out of it, trains and publishes."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ParamsError, OSError: a parameter or the file it names is wrong.
        """
        super().__init__("learner", **kwargs)
        config = declare_from(self, LearnerConfig)
        session = declare_from(self, SessionConfig)
        self._config = declare_from(self, NodeConfig)
        refuse_unknown(self)
        paths = [_path(getattr(self._config, f"{n}_dir")) for n in ("demonstrations", "log")]
        store = EpisodeStore(*paths, read_episode, write_episode)
        self._session = LearnerSession(config, session, store, _path(self._config.checkpoint_dir))
        if self._config.serve_checkpoint:
            path = Path(self._config.serve_checkpoint)
            self._session.serve(read_params(path / BEST_POLICY if path.is_dir() else path))
        self._inbox: queue.Queue[Callable[[], None]] = queue.Queue(INBOX)
        self._dropped = 0
        self._last_heard = -1e9
        self._loaded = False
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        self._make_interface()
        self._watch()
        self._worker = threading.Thread(target=self._run, name="learner", daemon=True)
        self._worker.start()

    def _make_interface(self) -> None:
        self._out = Publications(self)
        self._status = StatusPublisher(self)
        self._transitions = self.create_subscription(
            Transition, "transitions", self._on_transition, TRANSITIONS
        )
        self.create_service(GetPolicyParams, "get_policy_params", self._on_get_params)
        self.create_service(SaveCheckpoint, "save_checkpoint", self._on_save)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)

    # Callbacks: store and return

    def _on_transition(self, message: Transition) -> None:
        self._last_heard = time.monotonic()
        try:
            self._inbox.put_nowait(partial(self._receive, message))
        except queue.Full:
            self._dropped += 1

    def _on_get_params(
        self, request: GetPolicyParams.Request, response: GetPolicyParams.Response
    ) -> GetPolicyParams.Response:
        newest = self._session.newest_params
        response.available = newest is not None and newest.version > request.newer_than
        if newest is not None and response.available:
            response.params = params_to_msg(newest)
        return response

    async def _on_save(
        self, request: SaveCheckpoint.Request, response: SaveCheckpoint.Response
    ) -> SaveCheckpoint.Response:
        future: Future = Future(executor=self.executor)
        try:
            self._inbox.put_nowait(partial(self._save, request, future))
            response.success, response.message = await future
        except queue.Full:
            response.success, response.message = False, f"{INBOX} messages wait already"
        return response

    def _watch(self) -> None:
        now_at = self._phase()
        waiting_for = ""
        silent = time.monotonic() - self._last_heard > SILENCE
        if silent and now_at not in ("loading", "compiling") and self._inbox.empty():
            learner = self._session.learner
            if self.count_publishers(self._transitions.topic_name) == 0:
                waiting_for = "an actor (a publisher on transitions)"
            elif learner is None or learner.blocks_due < 1:
                waiting_for = "records on transitions"
        detail = ""
        if self._session.rejected:
            detail = f"{self._session.rejected} refused, last: {self._session.last_rejection}"
        self._status.say(now_at, waiting_for, detail)

    def _phase(self) -> str:
        if self.failure is not None:
            return "failed"
        if not self._loaded:
            return "loading"
        return phase(self._session)

    # The worker's thread

    def _run(self) -> None:
        try:
            self._session.restore()
            self._loaded = True
            self._loop()
        except Exception as error:
            self.failure = error

    def _loop(self) -> None:
        now = time.monotonic()
        learner = self._session.learner
        meter = Meter(now, learner.updates if learner else 0)
        metered, acked, saved = now, -1e9, now
        worked = False
        while not self._stopping.is_set():
            heard = self._drain(0.0 if worked else IDLE_WAIT)
            worked = self._session.work()
            encoded = self._session.take_unpublished()
            if encoded is not None:
                self._out.send_params(encoded)
            now = time.monotonic()
            if heard or worked or now - acked > ACK_PERIOD:
                self._out.send_acks(self._session.acknowledgements())
                acked = now
            if now - metered > METRICS_PERIOD:
                values = meter.read(self._session, now)
                self._out.send_metrics(values | {"dropped_messages": self._dropped})
                metered = now
            if now - saved > self._config.checkpoint_every_s:
                self.save()
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

    def _receive(self, message: Transition) -> None:
        before = self._session.rejected
        try:
            self._session.receive(record_from_msg(message))
        except MalformedMessage as error:
            session = bytes(message.session)
            self._session.refuse(message.actor_id, session, int(message.seq), str(error))
        if self._session.rejected > before:
            self.get_logger().warning(
                f"refused: {self._session.last_rejection}", throttle_duration_sec=1.0
            )

    def _save(self, request: SaveCheckpoint.Request, future: Future) -> None:
        try:
            path = self._session.save_checkpoint(request.tag, int(request.policy_version))
            future.set_result((True, str(path)))
        except (LookupError, OSError) as error:
            future.set_result((False, str(error)))

    # Ends

    def save(self) -> None:
        """Writes a checkpoint, if there is something to save and somewhere to put it."""
        if self._config.checkpoint_dir and self._session.learner is not None:
            self._session.save_checkpoint()

    def close(self) -> bool:
        """Lets the worker finish its block and writes a checkpoint; false: it is still at work."""
        self._stopping.set()
        self._worker.join(STOP_LIMIT)
        finished = not self._worker.is_alive()
        if finished and self.failure is None:
            self.save()
        return finished and not self._session.compiling


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


def run() -> int:
    """Runs the node until it is told to stop or fails; the exit code."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    # Not rclpy's own handlers: they end the context before the last words are published.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = LearnerNode()
    except (ParameterError, ParamsError, OSError) as error:
        print(f"learner: {error}", file=sys.stderr)
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.is_set() and node.failure is None:
        executor.spin_once(timeout_sec=0.2)
    idle = node.close()
    if isinstance(node.failure, (EpisodeError, CheckpointError)):
        print(f"learner: {node.failure}", file=sys.stderr)
    elif node.failure is not None:
        traceback.print_exception(node.failure)
    code = 0 if node.failure is None else 1
    if not idle:  # XLA's compiler cannot be interrupted, and does not survive a normal exit
        sys.stderr.flush()
        os._exit(code)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    return code


def main() -> None:
    """Entry point."""
    sys.exit(run())


if __name__ == "__main__":
    main()
