"""Compares a learner's log with what the actor wrote down and with what was acknowledged."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serl_actor.journal import describe
from serl_learner.episodes import Episode, is_demonstration
from serl_learner.types import Entry, Record, Source

Number = tuple[str, int]
"""Session in hex digits, and sequence number."""
Label = Mapping[str, Any]
"""What an entry says beside its number, by name; of arrays a checksum."""

LOST, DOUBLED, MISLABELLED, UNKNOWN = "lost", "doubled", "mislabelled", "unknown"


@dataclass(frozen=True)
class Fault:
    """One number of one session that is not as it should be."""

    kind: str  # LOST, DOUBLED, MISLABELLED or UNKNOWN
    session: str
    seq: int
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.seq} of session {self.session[:8]}: {self.detail}"


@dataclass(frozen=True)
class Audit:
    """What was compared, and what was wrong.

    Attributes:
      acknowledged: numbers that the learner had called durable.
      stored, refused: numbers in the log: with their content, and those refused.
      journalled: entries that the actor wrote down.
      sessions: that the log knows.
      online_steps, demonstrations: counted in the log.
    """

    faults: tuple[Fault, ...] = ()
    acknowledged: int = 0
    stored: int = 0
    refused: int = 0
    journalled: int = 0
    sessions: int = 0
    online_steps: int = 0
    demonstrations: int = 0


@dataclass
class Journal:
    """The actor's own record of its entries.

    Attributes:
      labels: by number.
      torn: lines that a kill cut off; no entry was sent before its line was whole.
      faults: numbers that were used for two different entries.
    """

    labels: dict[Number, Label] = field(default_factory=dict)
    torn: int = 0
    faults: list[Fault] = field(default_factory=list)


def read_journal(path: Path) -> Journal:
    """The journal of an actor over all its sessions; OSError if there is none."""
    journal = Journal()
    for line in path.read_bytes().splitlines():
        if not line:
            continue
        try:
            label = json.loads(line)
            number = label.pop("session"), label.pop("seq")
        except (ValueError, KeyError, AttributeError):
            journal.torn += 1
            continue
        if journal.labels.setdefault(number, label) != label:
            journal.faults.append(Fault(DOUBLED, *number, "used twice by the actor"))
    return journal


def label_of(entry: Entry) -> Label:
    """What the log says of an entry, in the journal's words."""
    label = describe(entry)
    del label["session"], label["seq"]
    return label


def audit(
    episodes: Iterable[tuple[Path, Episode]], journal: Journal, acknowledged: Mapping[str, int]
) -> Audit:
    """Every acknowledged number exactly once, and everything in the log as the actor has it.

    Args:
      episodes: all files of the run, demonstrations too.
      journal: of the actor.
      acknowledged: by session, the number below which all was called durable.
    """
    places: dict[Number, list[str]] = {}
    faults = list(journal.faults)
    counts: Counter[str] = Counter()
    for path, episode in episodes:
        session = episode.session.hex()
        for seq in episode.refused:
            places.setdefault((session, seq), []).append(path.name)
        counts["refused"] += len(episode.refused)
        counts["stored"] += len(episode.entries)
        counts["online_steps"] += online_steps(episode.records)
        counts["demonstrations"] += is_demonstration(episode)
        for entry in episode.entries:
            number = entry.session.hex(), entry.seq
            places.setdefault(number, []).append(path.name)
            faults += _compare(number, label_of(entry), journal, path)
    faults += [
        Fault(DOUBLED, *number, f"in {', '.join(names)}")
        for number, names in places.items()
        if len(names) > 1
    ]
    faults += _missing(places, acknowledged)
    return Audit(
        faults=tuple(faults),
        acknowledged=sum(acknowledged.values()),
        journalled=len(journal.labels),
        sessions=len({session for session, _ in places}),
        **counts,
    )


def _compare(number: Number, label: Label, journal: Journal, path: Path) -> Iterator[Fault]:
    known = journal.labels.get(number)
    if known is None:
        yield Fault(UNKNOWN, *number, f"in {path.name}, and the actor never wrote it down")
    elif known != label:
        names = sorted(k for k in known.keys() | label.keys() if known.get(k) != label.get(k))
        said = "; ".join(f"{k} {label.get(k)}, the actor had {known.get(k)}" for k in names)
        yield Fault(MISLABELLED, *number, f"in {path.name}: {said}")


def _missing(places: Mapping[Number, Any], acknowledged: Mapping[str, int]) -> Iterator[Fault]:
    for session, end in acknowledged.items():
        for seq in range(end):
            if (session, seq) not in places:
                yield Fault(LOST, session, seq, f"acknowledged (below {end}), but not in the log")


def online_steps(records: list[Record]) -> int:
    """Online transitions in one file: two records of consecutive steps make one."""
    return sum(
        first.source not in (Source.DEMO, Source.EVAL)
        and not first.last
        and (second.episode, second.step) == (first.episode, first.step + 1)
        for first, second in itertools.pairwise(records)
    )
