"""What is in recordings, in figures: the summary that `./serl data check` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from serl_learner.data.lint import saturation
from serl_learner.data.recording import RecordedEpisode
from serl_learner.episodes import is_demonstration
from serl_learner.types import ObservationSpec, Record, spec_of


@dataclass
class Summary:
    """Grows with every episode; holds no records.

    Attributes:
      spec: keys and sizes of the first usable episode.
      lengths: steps of each usable episode.
      returns: sum of rewards of each.
      saturated: steps at which each dimension of the action was at its limit.
      sources: steps by who chose the action.
    """

    episodes: int = 0
    usable: int = 0
    successes: int = 0
    demonstrations: int = 0
    spec: ObservationSpec | None = None
    lengths: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    saturated: np.ndarray | None = None
    largest: np.ndarray | None = None
    sources: Counter[str] = field(default_factory=Counter)

    def add(self, recorded: RecordedEpisode) -> None:
        """One more episode, that has been looked over."""
        self.episodes += 1
        if not recorded.usable:
            return
        records = recorded.episode.records
        steps = [record for record in records if not record.last]
        self.usable += 1
        self.successes += records[-1].success
        self.demonstrations += is_demonstration(recorded.episode)
        self.spec = self.spec or spec_of(records[0].observation)
        self.lengths.append(len(steps))
        self.returns.append(sum(record.reward for record in steps))
        self.sources.update(record.source.name for record in steps)
        self._count_actions(steps)

    def _count_actions(self, steps: Sequence[Record]) -> None:
        counts = saturation(steps) * len(steps)
        largest = np.abs(np.array([record.action for record in steps])).max(axis=0)
        if self.saturated is not None and self.largest is not None:
            counts, largest = counts + self.saturated, np.maximum(largest, self.largest)
        self.saturated, self.largest = counts, largest

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        steps = max(sum(self.lengths), 1)
        return {
            "episodes": self.episodes,
            "usable": self.usable,
            "successes": self.successes,
            "demonstrations": self.demonstrations,
            "steps": sum(self.lengths),
            "lengths": self.lengths,
            "returns": self.returns,
            "sources": dict(self.sources),
            "observation": {k: [list(s), d] for k, (s, d) in (self.spec or {}).items()},
            "saturation": [] if self.saturated is None else (self.saturated / steps).tolist(),
            "largest_action": [] if self.largest is None else self.largest.tolist(),
        }

    def lines(self) -> list[str]:
        """For people."""
        text = [f"{self.episodes} episodes, {self.usable} of them usable"]
        if not self.usable:
            return text
        plain = self.to_plain()
        low, middle, high = np.percentile(self.lengths, (0, 50, 100))
        sources = ", ".join(f"{n:,} {name.lower()}" for name, n in self.sources.most_common())
        text += [
            f"success        {self.successes} of {self.usable}; demonstrations that can be "
            f"learned from: {self.demonstrations}",
            f"steps          {sum(self.lengths):,} ({sources}); an episode {low:.0f} .. "
            f"{high:.0f}, median {middle:.0f}",
            f"return         {min(self.returns):g} .. {max(self.returns):g}, mean "
            f"{np.mean(self.returns):.3g}",
            "action         " + _columns("largest", plain["largest_action"], "{:.2f}"),
            "               " + _columns("saturated", plain["saturation"], "{:.0%}"),
            "observation    "
            + ", ".join(f"{k} {d}{list(s)}" for k, (s, d) in (self.spec or {}).items()),
        ]
        return text


def _columns(name: str, values: Sequence[float], form: str) -> str:
    return f"{name:<10}" + "".join(f"{form.format(value):>7}" for value in values)
