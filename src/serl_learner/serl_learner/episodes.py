"""What one file of the log holds: an episode, or a part of one, as it was received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from serl_learner.types import Entry, ObservationSpec, Record, Source
from serl_learner.validation import Range, RejectedRecord, check_record


class EpisodeError(ValueError):
    """An episode that must not be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Episode:
    """All that came under the sequence numbers of one stretch of a session.

    Attributes:
      actor_id, session: who sent it.
      entries: records of one episode and relabels (of any earlier record) by number. Without a
        record: relabels that came between two episodes, or only refused numbers.
      refused: numbers of this stretch whose messages were refused: nothing is kept of them.
      part: 0, or counts the parts of an episode that was broken off and went on.
      reason: why it was broken off; empty if it was not.
      next_seq: every number of the session below it is in this file or in an earlier one.
      unsent: numbers right before its first that never came: a recording that was played left
        them out.
    """

    actor_id: str
    session: bytes
    entries: tuple[Entry, ...]
    refused: tuple[int, ...] = ()
    part: int = 0
    reason: str = ""
    next_seq: int = 0
    unsent: int = 0

    @property
    def records(self) -> list[Record]:
        """Its records, without the relabels."""
        return [entry for entry in self.entries if isinstance(entry, Record)]

    @property
    def number(self) -> int | None:
        """The episode's number in its session; None without a record."""
        return next((e.episode for e in self.entries if isinstance(e, Record)), None)

    @property
    def first_seq(self) -> int:
        """The lowest number that it accounts for."""
        return min([entry.seq for entry in self.entries] + list(self.refused))

    @property
    def complete(self) -> bool:
        """It was not broken off. Its tail has no successor if it was, and is no transition."""
        return not self.reason


def stretch(
    actor_id: str,
    session: bytes,
    entries: Sequence[Entry],
    refused: Sequence[int] = (),
    part: int = 0,
    reason: str = "",
) -> Episode:
    """The episode of these entries and refused numbers, of which there is at least one."""
    next_seq = max([entry.seq for entry in entries] + list(refused)) + 1
    return Episode(actor_id, session, tuple(entries), tuple(refused), part, reason, next_seq)


def is_demonstration(episode: Episode) -> bool:
    """A demonstration from beginning to end, that succeeded."""
    records = episode.records
    return (
        bool(records)
        and episode.complete
        and episode.part == 0
        and records[-1].success
        and all(r.source == Source.DEMO for r in records)
    )


def learned_entries(episode: Episode) -> Iterator[Entry]:
    """What may be learned from: all but what a demonstration that failed holds."""
    demonstration = is_demonstration(episode)
    for entry in episode.entries:
        if demonstration or not isinstance(entry, Record) or entry.source != Source.DEMO:
            yield entry


def check_episode(
    path: Path,
    episode: Episode,
    spec: ObservationSpec,
    action_dim: int,
    reward_range: Range | None = None,
) -> None:
    """Raises EpisodeError, naming the key, what was expected and what was found."""
    for record in episode.records:
        try:
            check_record(record, spec, action_dim, reward_range)
        except RejectedRecord as error:
            raise EpisodeError(f"{path} is of another layout: {error}") from error
