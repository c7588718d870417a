"""Which of recorded episodes are taken, and what speaks against the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from serl_learner.data.lint import looked_over
from serl_learner.data.recording import Level, RecordedEpisode, Recording
from serl_learner.episodes import Episode
from serl_learner.types import ObservationSpec, Record, Source, spec_of
from serl_learner.validation import Range


@dataclass
class Selection:
    """What was chosen.

    Attributes:
      episodes: the chosen ones.
      unusable: what speaks against others that would have been; one line for each.
      left_out: how many were left out by reason.
      spec: keys and sizes of all that were chosen.
    """

    episodes: list[Episode] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    spec: ObservationSpec | None = None

    @property
    def apart(self) -> str:
        """What was left out, in words; empty if nothing was."""
        return ", ".join(f"{n} {why}" for why, n in sorted(self.left_out.items()))


def select(
    recordings: Iterable[Recording],
    spec: ObservationSpec | None = None,
    action_dim: int | None = None,
    rewards: Range | None = None,
    demonstrations: bool = False,
) -> Selection:
    """All episodes that can be learned from, or the demonstrations among them.

    Args:
      spec, action_dim: what a task expects; None: all as the first.
      rewards: those that it can learn; None: any.
      demonstrations: only those that somebody demonstrated, and that succeeded.
    """
    selection = Selection(spec=spec)
    for recording in recordings:
        selection.unusable += [
            finding.text for finding in recording.findings if finding.level is Level.UNUSABLE
        ]
        for recorded in recording.episodes:
            reason = _unwanted(recorded.episode.records) if demonstrations else ""
            if reason:
                selection.left_out[reason] += 1
            else:
                _judge(selection, recorded, action_dim, rewards)
    return selection


def _judge(
    selection: Selection, recorded: RecordedEpisode, dim: int | None, rewards: Range | None
) -> None:
    seen = looked_over(recorded, selection.spec, dim, rewards)
    unusable = [f"{seen.name}: {f.text}" for f in seen.findings if f.level is Level.UNUSABLE]
    if unusable:
        selection.unusable += unusable
    elif not seen.usable:
        selection.left_out["incomplete"] += 1
    else:
        selection.spec = selection.spec or spec_of(seen.episode.records[0].observation)
        selection.episodes.append(seen.episode)


def _unwanted(records: list[Record]) -> str:
    """Why these are no demonstration to learn from; empty if they may be one."""
    if any(record.source != Source.DEMO for record in records):
        return "not demonstrated"
    return "" if any(record.last and record.success for record in records) else "without success"
