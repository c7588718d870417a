"""Episodes of a recording: what was on the wire, put in order, with what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby

from serl_learner.episodes import Episode, stretch
from serl_learner.types import Entry, Record, Relabel


class Level(Enum):
    """How bad a finding is."""

    UNUSABLE = "unusable"
    """Nothing may be learned from the episode, or the file."""
    INCOMPLETE = "incomplete"
    """A part of an episode: it is left out, the others are sound."""
    NOTE = "note"
    """Worth a look."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, in words that name the value."""

    level: Level
    text: str


@dataclass(frozen=True)
class Spoiled:
    """What was recorded but cannot be used, e.g. because it holds NaN; `text` says why.

    `episode` is that of a record; None: it is a late verdict.
    """

    actor_id: str
    session: bytes
    seq: int
    episode: int | None
    text: str


@dataclass(frozen=True)
class RecordedEpisode:
    """An episode, which file or bag it is from, and what was found."""

    source: str
    episode: Episode
    findings: tuple[Finding, ...] = ()

    @property
    def usable(self) -> bool:
        """Nothing speaks against learning from it."""
        return all(finding.level is Level.NOTE for finding in self.findings)

    @property
    def name(self) -> str:
        """For people: the source, and which of its episodes."""
        number = "without a record" if self.episode.number is None else self.episode.number
        return f"{self.source}: episode {number} of session {self.episode.session.hex()[:8]}"


@dataclass
class Recording:
    """What one bag, or one file of the learner's log, holds.

    Attributes:
      source: its path.
      episodes: those with a record, in order.
      findings: about the whole.
    """

    source: str
    episodes: list[RecordedEpisode] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def assemble(source: str, found: Iterable[Entry | Spoiled]) -> Recording:
    """The episodes in messages as they were recorded: in any order, some twice, some missing.

    An episode whose beginning or end was not recorded is incomplete; one that lacks a record in
    between, or holds one that cannot be used, is unusable.
    """
    sessions: dict[bytes, dict[int, Entry | Spoiled]] = {}
    for entry in found:
        sessions.setdefault(entry.session, {}).setdefault(entry.seq, entry)
    recording = Recording(source)
    for entries in sessions.values():
        ordered = [entries[seq] for seq in sorted(entries)]
        rest = [e for e in ordered if not isinstance(e, Relabel) and e.episode is not None]
        others = set(entries) - {entry.seq for entry in rest}
        for _, group in groupby(rest, key=lambda entry: entry.episode):
            recording.episodes.append(_episode(source, list(group), others))
        recording.findings += [
            Finding(Level.UNUSABLE, f"{source}: {entry.text}")
            for entry in ordered
            if isinstance(entry, Spoiled) and entry.episode is None
        ]
    return recording


def _episode(source: str, found: list[Record | Spoiled], others: set[int]) -> RecordedEpisode:
    """`others` are numbers that a record cannot have."""
    findings = [Finding(Level.UNUSABLE, e.text) for e in found if isinstance(e, Spoiled)]
    records = [e for e in found if isinstance(e, Record)]
    first, last = found[0], found[-1]
    missing = set(range(first.seq, last.seq)) - {e.seq for e in found} - others
    if missing:
        findings.append(
            Finding(Level.UNUSABLE, f"a gap: records {_ranges(sorted(missing))} are missing")
        )
    if isinstance(first, Record) and first.step > 0:
        findings.append(Finding(Level.INCOMPLETE, f"it was recorded from step {first.step} on"))
    if isinstance(last, Record) and not last.last:
        findings.append(Finding(Level.INCOMPLETE, f"the recording ends after step {last.step}"))
    refused = [e.seq for e in found if isinstance(e, Spoiled)]
    reason = "; ".join(finding.text for finding in findings)
    episode = stretch(first.actor_id, first.session, records, refused, reason=reason)
    return RecordedEpisode(source, episode, tuple(findings))


def _ranges(numbers: Sequence[int]) -> str:
    """[3, 4, 5, 9] -> "3..5, 9"."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        seqs = [seq for _, seq in run]
        parts.append(str(seqs[0]) if len(seqs) == 1 else f"{seqs[0]}..{seqs[-1]}")
    return ", ".join(parts)


def relabelled(records: Iterable[Record], relabels: Iterable[Relabel]) -> list[Record]:
    """The records of an episode with the verdicts that came over them later, the last one winning.

    If one came over its last step the episode succeeded as that says: terminated with a reward.
    """
    relabels = sorted(relabels, key=lambda relabel: relabel.seq)
    result: list[Record] = []
    over_last = False
    for record in records:
        verdict = None if record.last else _verdict(record, relabels)
        if verdict is not None:
            record = replace(record, reward=verdict.reward, terminated=verdict.terminated)
        elif record.last and over_last:
            end = result[-1]
            record = replace(record, success=end.terminated and end.reward > 0.0)
        over_last = verdict is not None
        result.append(record)
    return result


def _verdict(record: Record, relabels: Sequence[Relabel]) -> Relabel | None:
    """The last one that concerns a record."""
    for relabel in reversed(relabels):
        concerned = relabel.session == record.session
        if concerned and relabel.first_seq <= record.seq <= relabel.last_seq:
            return relabel
    return None


def judged(episode: Episode, relabels: Iterable[Relabel]) -> Episode:
    """The records of an episode with the late verdicts over them, which it then no longer holds."""
    own = [relabel for relabel in relabels if relabel.session == episode.session]
    return replace(episode, entries=tuple(relabelled(episode.records, own)))
