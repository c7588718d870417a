"""Refuses malformed records before anything else sees them."""

from __future__ import annotations

import numpy as np

from serl_learner.types import Entry, ObservationSpec, Record, Relabel, spec_of
from serl_learner.vision.cameras import IMAGE


class RejectedRecord(ValueError):
    """A record that must not be stored; the message names the value and the limit."""


Range = tuple[float, float]


def check_record(
    record: Record, spec: ObservationSpec, action_dim: int, reward_range: Range | None = None
) -> None:
    """Raises RejectedRecord unless observation, action and reward are as the layout says.

    `reward_range` is what targets are clipped to: a reward outside it would be learned as another
    one.
    """
    check_observation(record, spec)
    if record.last:
        _check_reward(record, None)
        return
    _check_reward(record, reward_range)
    if record.action is None or record.action.shape != (action_dim,):
        found = None if record.action is None else record.action.shape
        raise RejectedRecord(f"{_name(record)}: action has shape {found}, not {(action_dim,)}")
    if not np.all(np.isfinite(record.action)) or np.abs(record.action).max() > 1.0 + 1e-6:
        raise RejectedRecord(f"{_name(record)}: action {record.action} is not in [-1, 1]")


def check_relabel(relabel: Relabel, reward_range: Range | None = None) -> None:
    """Raises RejectedRecord unless it concerns earlier records and its reward can be learned."""
    _check_reward(relabel, reward_range)
    first, last = relabel.first_seq, relabel.last_seq
    if not 0 <= first <= last < relabel.seq:
        raise RejectedRecord(f"{_name(relabel)}: records {first}..{last} are no range below it")


def _check_reward(entry: Entry, reward_range: Range | None) -> None:
    if not np.isfinite(entry.reward):
        raise RejectedRecord(f"{_name(entry)}: reward {entry.reward} is not finite")
    if reward_range is not None and not reward_range[0] <= entry.reward <= reward_range[1]:
        raise RejectedRecord(
            f"{_name(entry)}: reward {entry.reward} is outside reward_range"
            f" {list(reward_range)}, to which target_clip clips what is learned"
        )


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
        if key.startswith(IMAGE) and not _is_image(value):
            raise RejectedRecord(f"{_name(record)}: {key!r} is {found[key]}, not uint8 [H, W, 3]")
        if np.issubdtype(value.dtype, np.floating) and not np.all(np.isfinite(value)):
            raise RejectedRecord(f"{_name(record)}: {key!r} holds a value that is not finite")


def _is_image(value: np.ndarray) -> bool:
    return value.dtype == np.uint8 and value.ndim == 3 and value.shape[-1] == 3 and value.size > 0


def _name(entry: Entry) -> str:
    kind = "record" if isinstance(entry, Record) else "relabel"
    return f"{kind} {entry.seq} of actor {entry.actor_id!r}"
