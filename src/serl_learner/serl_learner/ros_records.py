"""Transition and Relabel messages <-> Record and Relabel."""

from __future__ import annotations

import array

import numpy as np

from serl_controllers.ros_arm import ns_from_time, time_from_ns
from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.msg import Transition
from serl_learner.ros_tensors import MalformedMessage, tensors_from_msgs, tensors_to_msgs
from serl_learner.types import Record, Relabel, Source

MAX_ACTION = 64
"""Largest action dimension that is accepted."""
MAX_NAME = 128
"""Longest actor_id that is accepted."""


def record_to_msg(record: Record) -> Transition:
    """The message of one record; MalformedMessage if a dtype may not be sent."""
    message = Transition(
        actor_id=record.actor_id,
        session=np.frombuffer(record.session, np.uint8),
        seq=record.seq,
        episode=record.episode,
        step=record.step,
        reward=float(record.reward),
        terminated=bool(record.terminated),
        truncated=bool(record.truncated),
        last=record.last,
        aborted=record.aborted,
        success=bool(record.success),
        source=int(record.source),
        policy_version=record.policy_version,
        extras=tensors_to_msgs(record.extras),
    )
    if record.action is not None:
        message.action = array.array("f", np.asarray(record.action, np.float32).tobytes())
    stamp = time_from_ns(record.stamp_ns)
    message.header.stamp = stamp
    message.observation.header.stamp = stamp
    message.observation.step = record.step
    message.observation.tensors = tensors_to_msgs(record.observation)
    for tensor in message.observation.tensors:
        tensor.stamp = stamp
    return message


def record_from_msg(message: Transition) -> Record:
    """The record of a message.

    Raises:
      MalformedMessage: a tensor, the action, the reward or a flag is not what the message's
        documentation says; names the record, the value and the limit.
    """
    try:
        return _record(message)
    except MalformedMessage as error:
        raise MalformedMessage(
            f"record {message.seq} of actor {message.actor_id[:MAX_NAME]!r}: {error}"
        ) from None


def _record(message: Transition) -> Record:
    _check_name(message.actor_id)
    if message.source not in Source.__members__.values():
        raise MalformedMessage(f"source {message.source}, limit {max(Source)}")
    if not np.isfinite(message.reward):
        raise MalformedMessage(f"reward {message.reward} is not finite")
    return Record(
        session=bytes(message.session),
        seq=int(message.seq),
        episode=int(message.episode),
        step=int(message.step),
        observation=tensors_from_msgs(message.observation.tensors),
        action=_action(message),
        reward=float(message.reward),
        terminated=message.terminated,
        truncated=message.truncated,
        last=message.last,
        aborted=message.aborted,
        success=message.success,
        source=Source(message.source),
        policy_version=int(message.policy_version),
        stamp_ns=ns_from_time(message.header.stamp),
        actor_id=message.actor_id,
        extras=tensors_from_msgs(message.extras),
    )


def relabel_to_msg(relabel: Relabel) -> RelabelMessage:
    """The message of one relabel."""
    message = RelabelMessage(
        actor_id=relabel.actor_id,
        session=np.frombuffer(relabel.session, np.uint8),
        seq=relabel.seq,
        first_seq=relabel.first_seq,
        last_seq=relabel.last_seq,
        reward=float(relabel.reward),
        terminated=bool(relabel.terminated),
    )
    message.header.stamp = time_from_ns(relabel.stamp_ns)
    return message


def relabel_from_msg(message: RelabelMessage) -> Relabel:
    """The relabel of a message.

    Raises:
      MalformedMessage: the reward is not finite, or the records are not some before it; names the
        relabel, the value and the limit.
    """
    try:
        _check_name(message.actor_id)
        if not np.isfinite(message.reward):
            raise MalformedMessage(f"reward {message.reward} is not finite")
        if not message.first_seq <= message.last_seq < message.seq:
            raise MalformedMessage(
                f"records {message.first_seq}..{message.last_seq} are no range below {message.seq}"
            )
    except MalformedMessage as error:
        name = message.actor_id[:MAX_NAME]
        raise MalformedMessage(f"relabel {message.seq} of actor {name!r}: {error}") from None
    return Relabel(
        session=bytes(message.session),
        seq=int(message.seq),
        first_seq=int(message.first_seq),
        last_seq=int(message.last_seq),
        reward=float(message.reward),
        terminated=bool(message.terminated),
        stamp_ns=ns_from_time(message.header.stamp),
        actor_id=message.actor_id,
    )


def _check_name(actor_id: str) -> None:
    if len(actor_id) > MAX_NAME:
        raise MalformedMessage(f"actor_id of {len(actor_id)} letters, limit {MAX_NAME}")


def _action(message: Transition) -> np.ndarray | None:
    size = len(message.action)
    if size > MAX_ACTION:
        raise MalformedMessage(f"action has {size} values, limit {MAX_ACTION}")
    if message.last:
        if size:
            raise MalformedMessage(f"the last record has an action of {size} values, expected 0")
        return None
    action = np.array(message.action, np.float32)
    if not size or not np.all(np.isfinite(action)):
        raise MalformedMessage(f"action {action} is empty or not finite")
    return action
