"""What the learner node publishes: acknowledgements, policy parameters, metrics."""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node

from serl_controllers.ros_qos import ACK, METRICS, PARAMS
from serl_interfaces.msg import Metrics, PolicyParams, TransitionAck
from serl_learner.actor_sessions import Acknowledgement
from serl_learner.params_codec import EncodedParams
from serl_learner.ros_params import params_to_msg

REWARD_PARAMS = "reward_params"
"""Topic of the reward classifier that VICE trains: PolicyParams whose data is a model's file."""


def ack_to_msg(ack: Acknowledgement) -> TransitionAck:
    """The message of one acknowledgement, without a stamp."""
    return TransitionAck(
        actor_id=ack.actor_id,
        session=np.frombuffer(ack.session, np.uint8),
        next_seq=ack.next_seq,
        received_seq=ack.received_seq,
        credit=ack.credit,
        demonstrations=ack.demonstrations,
        updates=ack.updates,
        training=ack.training,
    )


def metrics_to_msg(node: str, step: int, values: Mapping[str, float]) -> Metrics:
    """The message of one node's numbers, without a stamp; names begin with "learner/"."""
    message = Metrics(node=node, step=step, names=[f"learner/{name}" for name in values])
    message.values = array.array("d", [float(value) for value in values.values()])
    return message


class Publications:
    """The learner's publishers; each call stamps and sends."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._acks = node.create_publisher(TransitionAck, "transitions/ack", ACK)
        self._params = node.create_publisher(PolicyParams, "policy_params", PARAMS)
        self._reward: Any = None
        self._metrics = node.create_publisher(Metrics, "metrics", METRICS)

    def send_acks(self, acks: Iterable[Acknowledgement]) -> None:
        """One message per actor."""
        for ack in acks:
            self._send(self._acks, ack_to_msg(ack))

    def send_params(self, encoded: EncodedParams) -> None:
        """One version of the policy."""
        self._send(self._params, params_to_msg(encoded))

    def send_reward(self, encoded: EncodedParams) -> None:
        """One version of the reward classifier that VICE trains."""
        if self._reward is None:
            self._reward = self._node.create_publisher(PolicyParams, REWARD_PARAMS, PARAMS)
        self._send(self._reward, params_to_msg(encoded))

    def send_metrics(self, values: Mapping[str, float]) -> None:
        """Numbers by name; `updates` is also the step."""
        step = int(values.get("updates", 0))
        self._send(self._metrics, metrics_to_msg(self._node.get_name(), step, values))

    def _send(self, publisher: Any, message: Any) -> None:
        message.header.stamp = self._node.get_clock().now().to_msg()
        publisher.publish(message)
