"""The learner over its ROS topics: entries out, acks and policy parameters in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future

from serl_actor.best_keeper import Answer, BestKeeper
from serl_actor.journal import Journal
from serl_actor.policy_source import PolicySource
from serl_actor.rival_watch import RivalWatch
from serl_actor.ros_params_link import ParamsLink
from serl_actor.spill import Codec, Spill
from serl_actor.transition_sender import SenderConfig, SenderError, TransitionSender
from serl_controllers.ros_qos import ACK, TRANSITIONS, TRANSITIONS_DEPTH
from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.msg import Transition, TransitionAck
from serl_interfaces.srv import SaveCheckpoint
from serl_learner.ros_records import (
    record_from_msg,
    record_to_msg,
    relabel_from_msg,
    relabel_to_msg,
)
from serl_learner.types import Entry, Record

SEND_TIMER = 0.05
"""Between two looks for records to send, or to send again [s]."""

ASK_TIMER = 0.5
"""Between two looks for unanswered questions [s]."""

LEASE = 5.0
"""A learner that was silent for so long counts as gone [s]."""


def _encode(entry: Entry) -> bytes:
    if isinstance(entry, Record):
        return b"t" + serialize_message(record_to_msg(entry))
    return b"r" + serialize_message(relabel_to_msg(entry))


def _decode(data: bytes) -> Entry:
    if data[:1] == b"t":
        return record_from_msg(deserialize_message(data[1:], Transition))
    return relabel_from_msg(deserialize_message(data[1:], RelabelMessage))


SPILL_CODEC = Codec(_encode, _decode)
"""Spilled entries are their messages, serialised; the first byte tells which."""


def _check_window(window: int) -> None:
    if window >= TRANSITIONS_DEPTH:
        raise ValueError(
            f"window is {window}, expected less than the depth of the topic, {TRANSITIONS_DEPTH}"
        )


class LearnerLink:
    """Sends entries and keeps them until acked; knows the learner by its acks."""

    def __init__(
        self,
        node: Node,
        actor_id: str,
        session: bytes,
        source: PolicySource,
        config: SenderConfig,
        spill: Spill | None = None,
        witness: Journal | None = None,
        best_confirmed: Callable[[int], None] = lambda version: None,
    ) -> None:
        """`spill`, `witness` as for TransitionSender; `best_confirmed` as for BestKeeper.

        Raises:
          ValueError: the window is as large as what the topic keeps.
        """
        _check_window(config.window)
        self._node = node
        self._session = session
        self._rivals = RivalWatch(actor_id, session, time.monotonic)
        self._changed = threading.Condition()
        self._ack: TransitionAck | None = None
        self._heard: float | None = None
        self._transitions = node.create_publisher(Transition, "transitions", TRANSITIONS)
        self._relabels = node.create_publisher(RelabelMessage, "transitions/relabel", TRANSITIONS)
        self.sender = TransitionSender(
            config, self._send, time.monotonic, spill, witness, self._is_heard
        )
        self._save = node.create_client(SaveCheckpoint, "save_checkpoint")
        self.best = BestKeeper(
            self._ask_to_save, lambda: source.newest_version, time.monotonic, best_confirmed
        )
        ParamsLink(node, source, lambda: self.present, self._notify)
        node.create_subscription(TransitionAck, "transitions/ack", self._on_ack, ACK)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(SEND_TIMER, self.sender.poll, clock=steady)
        node.create_timer(ASK_TIMER, self.best.poll, clock=steady)

    @property
    def present(self) -> bool:
        """The learner spoke within the last seconds."""
        return self._heard is not None and time.monotonic() - self._heard < LEASE

    @property
    def demonstrations(self) -> int | None:
        """Demonstrations that the learner holds; None while it is away."""
        return int(self._ack.demonstrations) if self._ack is not None and self.present else None

    @property
    def training(self) -> bool:
        """The learner has begun to update."""
        return self._ack is not None and bool(self._ack.training)

    def wait(self, predicate: Callable[[], bool], timeout: float) -> bool:
        """Waits up to `timeout` [s] for an ack or parameters that make `predicate` true."""
        with self._changed:
            return self._changed.wait_for(predicate, timeout)

    def save_best(self, version: int) -> None:
        """Has the learner keep a version for evaluation; does not wait, and does not give up."""
        self.best.want(version)

    def _send(self, entry: Entry) -> None:
        if isinstance(entry, Record):
            self._transitions.publish(record_to_msg(entry))
        else:
            self._relabels.publish(relabel_to_msg(entry))

    def _is_heard(self) -> bool:
        return self._transitions.get_subscription_count() > 0

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _on_ack(self, ack: TransitionAck) -> None:
        """Every ack tells of the learner; those to this session also of its records."""
        session = bytes(ack.session)
        if session == self._session:
            self.sender.acknowledge(int(ack.received_seq), int(ack.next_seq), int(ack.credit))
        rival = self._rivals.hear(ack.actor_id, session)
        if rival is not None:
            self._meet(rival, ack.actor_id)
        with self._changed:
            self._ack = ack
            self._heard = time.monotonic()
            self._changed.notify_all()

    def _meet(self, rival: bytes, actor_id: str) -> None:
        """Two living actors of one name: the second leaves."""
        said = f"another actor of the name {actor_id!r} sends records, too (session {rival.hex()})"
        if self._rivals.was_here_before(rival):
            self.sender.fail(SenderError(f"{said}; give this one another actor_id"))
        else:
            self._node.get_logger().error(
                f"{said}; it came later and has to leave", throttle_duration_sec=5.0
            )

    def _ask_to_save(self, version: int, answer: Answer) -> bool:
        if not self._save.service_is_ready():
            return False

        def done(future: Future) -> None:
            response = future.result()
            if response is not None:
                answer(bool(response.success), response.message)

        request = SaveCheckpoint.Request(tag="best", policy_version=version)
        self._save.call_async(request).add_done_callback(done)
        return True
