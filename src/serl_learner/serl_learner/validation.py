"""Refuses malformed records before anything else sees them."""

from __future__ import annotations

import numpy as np

from serl_learner.types import ObservationSpec, Record, spec_of


class RejectedRecord(ValueError):
    """A record that must not be stored; the message names the value and the limit."""


def check_record(record: Record, spec: ObservationSpec, action_dim: int) -> None:
    """Raises RejectedRecord unless observation, action and reward are as the layout says."""
    check_observation(record, spec)
    if not np.isfinite(record.reward):
        raise RejectedRecord(f"{_name(record)}: reward {record.reward} is not finite")
    if record.last:
        return
    if record.action is None or record.action.shape != (action_dim,):
        found = None if record.action is None else record.action.shape
        raise RejectedRecord(f"{_name(record)}: action has shape {found}, not {(action_dim,)}")
    if not np.all(np.isfinite(record.action)) or np.abs(record.action).max() > 1.0 + 1e-6:
        raise RejectedRecord(f"{_name(record)}: action {record.action} is not in [-1, 1]")


def check_observation(record: Record, spec: ObservationSpec) -> None:
    """Raises RejectedRecord unless keys, shapes, dtypes and finiteness are right."""
    found = spec_of(record.observation)
    for key in sorted(spec.keys() | found.keys()):
        if key not in found:
            raise RejectedRecord(f"{_name(record)}: key {key!r} is missing; expected {spec[key]}")
        if key not in spec:
            raise RejectedRecord(f"{_name(record)}: key {key!r} {found[key]} is not in the layout")
        if found[key] != spec[key]:
            raise RejectedRecord(f"{_name(record)}: {key!r} is {found[key]}, not {spec[key]}")
        value = record.observation[key]
        if np.issubdtype(value.dtype, np.floating) and not np.all(np.isfinite(value)):
            raise RejectedRecord(f"{_name(record)}: {key!r} holds a value that is not finite")


def _name(record: Record) -> str:
    return f"record {record.seq} of actor {record.actor_id!r}"
