"""The learner over its ROS topics: transitions out, acks and policy parameters in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from serl_actor.policy_source import PolicySource
from serl_actor.transition_sender import SenderConfig, TransitionSender
from serl_controllers.ros_qos import ACK, PARAMS, TRANSITIONS
from serl_interfaces.msg import PolicyParams, Transition, TransitionAck
from serl_interfaces.srv import GetPolicyParams, SaveCheckpoint
from serl_learner.params_codec import CorruptParams, ParamsError
from serl_learner.ros_params import params_from_msg
from serl_learner.ros_records import record_to_msg
from serl_learner.types import Record

RETRY_TIMER = 0.5
"""Between two looks for lost records [s]."""

LEASE = 5.0
"""A learner that was silent for so long counts as gone [s]."""


class LearnerLink:
    """Sends records and keeps them until acked; offers parameters to the policy source."""

    def __init__(
        self, node: Node, actor_id: str, session: bytes, source: PolicySource, config: SenderConfig
    ) -> None:
        self._node = node
        self._actor_id = actor_id
        self._session = session
        self._source = source
        self._changed = threading.Condition()
        self._ack: TransitionAck | None = None
        self._heard = -1e9
        publisher = node.create_publisher(Transition, "transitions", TRANSITIONS)
        self.sender = TransitionSender(
            config, lambda record: publisher.publish(record_to_msg(record)), time.monotonic
        )
        self._save = node.create_client(SaveCheckpoint, "save_checkpoint")
        self._fetch = node.create_client(GetPolicyParams, "get_policy_params")
        node.create_subscription(TransitionAck, "transitions/ack", self._on_ack, ACK)
        node.create_subscription(PolicyParams, "policy_params", self._on_params, PARAMS)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(RETRY_TIMER, self.sender.poll, clock=steady)

    @property
    def present(self) -> bool:
        """The learner spoke within the last seconds."""
        return time.monotonic() - self._heard < LEASE

    @property
    def demonstrations(self) -> int | None:
        """Demonstrations that the learner holds; None while it is away."""
        return int(self._ack.demonstrations) if self._ack is not None and self.present else None

    @property
    def updates(self) -> int:
        """Critic updates done, as last heard."""
        return 0 if self._ack is None else int(self._ack.updates)

    @property
    def training(self) -> bool:
        """The learner has begun to update."""
        return self._ack is not None and bool(self._ack.training)

    def wait(self, predicate: Callable[[], bool], timeout: float) -> bool:
        """Waits up to `timeout` [s] for an ack or parameters that make `predicate` true."""
        with self._changed:
            return self._changed.wait_for(predicate, timeout)

    def put(self, record: Record) -> None:
        """Takes the next record of the session."""
        self.sender.put(record)

    def save_best(self, version: int) -> None:
        """Asks the learner to keep a version for evaluation; does not wait."""
        if self._save.service_is_ready():
            self._save.call_async(SaveCheckpoint.Request(tag="best", policy_version=version))

    def _on_ack(self, ack: TransitionAck) -> None:
        """Every ack tells of the learner; those to this session also of its records."""
        if bytes(ack.session) == self._session:
            self.sender.acknowledge(int(ack.received_seq), int(ack.next_seq), int(ack.credit))
        with self._changed:
            self._ack = ack
            self._heard = time.monotonic()
            self._changed.notify_all()

    def _on_params(self, message: PolicyParams) -> None:
        """Offers them; damaged ones are fetched again, once per message."""
        try:
            self._source.offer(params_from_msg(message))
        except CorruptParams as error:
            self._node.get_logger().error(f"policy parameters refused, fetched again: {error}")
            if self._fetch.service_is_ready():
                request = GetPolicyParams.Request(newer_than=self._source.newest_version)
                self._fetch.call_async(request).add_done_callback(self._on_fetched)
        except ParamsError as error:
            self._node.get_logger().error(
                f"policy parameters refused: {error}", throttle_duration_sec=5.0
            )
        with self._changed:
            self._changed.notify_all()

    def _on_fetched(self, future: Future) -> None:
        response = future.result()
        if response is None or not response.available:
            return
        try:
            self._source.offer(params_from_msg(response.params))
        except ParamsError as error:
            self._node.get_logger().error(f"fetched policy parameters refused: {error}")
        with self._changed:
            self._changed.notify_all()
