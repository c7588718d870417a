"""Looks an episode over: length, flags, rewards, actions, gaps, pictures, keys and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from serl_learner.data.recording import Finding, Level, RecordedEpisode
from serl_learner.types import ObservationSpec, Record, spec_of
from serl_learner.validation import Range, RejectedRecord, check_record
from serl_learner.vision.cameras import IMAGE, TAKEN


@dataclass(frozen=True)
class Limits:
    """What is worth a note.

    Attributes:
      saturated: an action of at least this size counts as saturated, in -1 .. 1.
      saturation: share of the steps at which a dimension is saturated.
      slow_step: time between two steps, in medians of the episode.
      skew: between a picture and the arm's state [s].
      frozen: steps in a row with the very same picture of a camera.
    """

    saturated: float = 0.999
    saturation: float = 0.5
    slow_step: float = 2.5
    skew: float = 0.1
    frozen: int = 5


def looked_over(
    recorded: RecordedEpisode,
    spec: ObservationSpec | None = None,
    action_dim: int | None = None,
    rewards: Range | None = None,
    limits: Limits | None = None,
) -> RecordedEpisode:
    """The episode with all that was found.

    Args:
      spec: keys and sizes that the task expects; None: those of its first record.
      action_dim: likewise of the action.
      rewards: those that it can learn; None: any.
    """
    records = recorded.episode.records
    steps = [record for record in records if not record.last]
    found: list[Finding] = []
    if not steps:
        found.append(Finding(Level.UNUSABLE, "it has no step"))
    else:
        expected = spec or spec_of(records[0].observation)
        found += _layout(records, expected, action_dim, rewards)
        if not found:
            limits = limits or Limits()
            found += [*_flags(records), *_gaps(recorded, limits), *_actions(steps, limits)]
            found += _pictures(records, limits)
    return replace(recorded, findings=(*recorded.findings, *found))


def _layout(
    records: Sequence[Record], spec: ObservationSpec, action_dim: int | None, rewards: Range | None
) -> Iterator[Finding]:
    """Keys, shapes, dtypes, values that are not finite, actions or rewards beyond their limits."""
    actions = [record.action for record in records if record.action is not None]
    dim = action_dim or (len(actions[0]) if actions else 0)
    for record in records:
        try:
            check_record(record, spec, dim, rewards)
        except RejectedRecord as error:
            yield Finding(Level.UNUSABLE, str(error))
            return


def _flags(records: Sequence[Record]) -> Iterator[Finding]:
    steps = [record for record in records if not record.last]
    for record in steps[:-1]:
        for flag in ("terminated", "truncated"):
            if getattr(record, flag):
                yield Finding(
                    Level.UNUSABLE, f"{flag} at step {record.step}, but {len(steps)} steps follow"
                )
                return
    for record in records[:-1]:
        if record.last:
            text = f"step {record.step} is its last record, but step {records[-1].step} follows"
            yield Finding(Level.UNUSABLE, text)
    end, last = steps[-1], records[-1]
    if end.terminated and end.truncated:
        yield Finding(Level.NOTE, "its end is terminated and truncated at once")
    if last.last and last.success:
        if not end.terminated:
            yield Finding(Level.NOTE, "it succeeds, but does not terminate")
        if not end.reward > 0.0:
            yield Finding(Level.NOTE, f"it succeeds, but its last reward is {end.reward:g}")
    elif last.last and end.terminated:
        yield Finding(Level.NOTE, "it terminates without success")
    if last.aborted:
        yield Finding(Level.NOTE, "it was aborted")


def _gaps(recorded: RecordedEpisode, limits: Limits) -> Iterator[Finding]:
    """In the steps and in time."""
    records = recorded.episode.records
    refused = set(recorded.episode.refused)
    for first, second in pairwise(records):
        between = set(range(first.seq + 1, second.seq))
        if second.step == first.step + 1:
            continue
        steps = f"step {second.step} follows on step {first.step}"
        if between and between <= refused:
            text = f"{steps}: those between were refused, no transition joins over them"
            yield Finding(Level.NOTE, text)
        elif recorded.usable:  # else it is said already which records are missing
            yield Finding(Level.UNUSABLE, f"a gap: {steps}")
    stamps = np.array([record.stamp_ns for record in records]) * 1e-9
    periods = np.diff(stamps)
    if len(periods) and periods.min() <= 0.0:
        at = records[int(periods.argmin()) + 1].step
        yield Finding(Level.UNUSABLE, f"the stamp of step {at} is not after that of the one before")
    elif len(periods) and periods.max() > limits.slow_step * np.median(periods):
        at = records[int(periods.argmax())].step
        yield Finding(
            Level.NOTE,
            f"step {at} took {1e3 * periods.max():.0f} ms, the median is "
            f"{1e3 * np.median(periods):.0f} ms",
        )


def _actions(steps: Sequence[Record], limits: Limits) -> Iterator[Finding]:
    for dim, share in enumerate(saturation(steps, limits)):
        if share > limits.saturation:
            yield Finding(Level.NOTE, f"action {dim} is saturated at {share:.0%} of the steps")


def saturation(steps: Sequence[Record], limits: Limits | None = None) -> np.ndarray:
    """Share of the steps at which each dimension of the action is at its limit, [A]."""
    actions = np.array([record.action for record in steps])
    return (np.abs(actions) >= (limits or Limits()).saturated).mean(axis=0)


def _pictures(records: Sequence[Record], limits: Limits) -> Iterator[Finding]:
    """Of which time they are, and whether a camera stands still."""
    for key in (key for key in records[0].observation if key.startswith(IMAGE)):
        skews = [1e-9 * abs(_taken_at(record, key) - record.stamp_ns) for record in records]
        if max(skews) > limits.skew:
            at = records[int(np.argmax(skews))].step
            text = f"{key!r} of step {at} is {1e3 * max(skews):.0f} ms from the arm's state"
            yield Finding(Level.NOTE, text)
        longest, begun = _longest_still(records, key)
        if longest >= limits.frozen:
            text = f"{key!r} shows the very same picture at {longest} steps from {begun} on"
            yield Finding(Level.NOTE, text)


def _taken_at(record: Record, key: str) -> int:
    """When the picture was taken [ns]; with the arm's state, if that is not said."""
    return int(record.extras.get(f"{TAKEN}{key}", record.stamp_ns))


def _longest_still(records: Sequence[Record], key: str) -> tuple[int, int]:
    """Most records in a row with the same picture, and the step of the first of them."""
    longest, best, run, begun = 1, records[0].step, 1, records[0].step
    for before, record in pairwise(records):
        same = np.array_equal(before.observation[key], record.observation[key])
        run, begun = (run + 1, begun) if same else (1, record.step)
        if run > longest:
            longest, best = run, begun
    return longest, best
