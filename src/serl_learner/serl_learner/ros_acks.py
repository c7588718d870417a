"""Acknowledgement -> TransitionAck message; numbers -> Metrics message."""

from __future__ import annotations

import array
from collections.abc import Mapping

import numpy as np

from serl_interfaces.msg import Metrics, TransitionAck
from serl_learner.actor_sessions import Acknowledgement


def ack_to_msg(ack: Acknowledgement) -> TransitionAck:
    """The message of one acknowledgement; the caller stamps its header."""
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
    """The message of one node's numbers; names begin with "learner/"."""
    message = Metrics(node=node, step=step, names=[f"learner/{name}" for name in values])
    message.values = array.array("d", [float(value) for value in values.values()])
    return message
