"""Refuses malformed records before anything else sees them."""

from __future__ import annotations

import numpy as np

from serl_learner.types import ObservationSpec, Record, spec_of

ACTION_TOLERANCE = 1e-6
"""How far beyond 1 an action may lie by rounding."""

MAX_ACTION_DIM = 64
"""Longest action that may fix a layout."""


class RejectedRecord(ValueError):
    """A record that must not be stored; the message names the value and the limit."""


def check_record(record: Record, spec: ObservationSpec, action_dim: int) -> None:
    """Raises RejectedRecord unless observation, action and reward are as the layout says."""
    _check_layout(record, spec)
    check_values(record)
    if not record.last and _action(record).shape != (action_dim,):
        raise RejectedRecord(
            f"{_name(record)}: action has shape {_action(record).shape}, not {(action_dim,)}"
        )


def check_values(record: Record) -> None:
    """Raises RejectedRecord unless the record makes sense by itself, whatever the layout."""
    for key, value in record.observation.items():
        if not (np.issubdtype(value.dtype, np.number) or value.dtype == np.bool_):
            raise RejectedRecord(f"{_name(record)}: {key!r} has dtype {value.dtype}, not a number")
        if np.issubdtype(value.dtype, np.floating) and not np.all(np.isfinite(value)):
            bad = value[~np.isfinite(value)][0]
            raise RejectedRecord(f"{_name(record)}: {key!r} holds {bad}, expected finite values")
    if not np.isfinite(record.reward):
        raise RejectedRecord(f"{_name(record)}: reward is {record.reward}, expected a finite value")
    if record.last:
        return
    action = _action(record)
    if action.ndim != 1 or not 1 <= action.size <= MAX_ACTION_DIM:
        raise RejectedRecord(
            f"{_name(record)}: action has shape {action.shape}, expected 1..{MAX_ACTION_DIM} values"
        )
    if not np.all(np.abs(action) <= 1.0 + ACTION_TOLERANCE):  # false for NaN too
        raise RejectedRecord(f"{_name(record)}: action {action} is not in [-1, 1]")


def check_reward(record: Record, reward_range: tuple[float, float]) -> None:
    """Raises RejectedRecord for a reward that the clipped target could not represent."""
    low, high = reward_range
    if not low <= record.reward <= high:
        raise RejectedRecord(
            f"{_name(record)}: reward {record.reward} is not in reward_range [{low}, {high}],"
            " to which targets are clipped"
        )


def _check_layout(record: Record, spec: ObservationSpec) -> None:
    found = spec_of(record.observation)
    for key in sorted(spec.keys() | found.keys()):
        if key not in found:
            raise RejectedRecord(f"{_name(record)}: key {key!r} is missing; expected {spec[key]}")
        if key not in spec:
            raise RejectedRecord(
                f"{_name(record)}: key {key!r} {found[key]} is not in the layout;"
                f" known keys: {', '.join(sorted(spec))}"
            )
        if found[key] != spec[key]:
            raise RejectedRecord(f"{_name(record)}: {key!r} is {found[key]}, expected {spec[key]}")


def _action(record: Record) -> np.ndarray:
    if record.action is None:
        raise RejectedRecord(f"{_name(record)}: has no action and is not the last of its segment")
    return record.action


def _name(record: Record) -> str:
    return f"record {record.seq} of actor {record.actor_id!r}"
