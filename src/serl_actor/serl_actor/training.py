"""How the training went so far, and the best policy of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from serl_actor.policy_source import Snapshot
from serl_actor.rollout import Episode

RECENT = 20
"""Episodes that the running success rate is taken over."""


@dataclass
class Training:
    """Counts of one job, also over restarts.

    Attributes:
      env_steps: executed steps of warm-up and training.
      episodes: of warm-up and training.
      recent: the last training episodes, at most RECENT; warm-up is not among them.
      best_successes: alone, among the last RECENT episodes, when `best` acted.
      best: the newest policy with the most successes; None before a training episode.
      curve: [environment steps so far, success] after every training episode.
      corrections: [takeovers, steps that an operator drove] of every training episode.
      positives: frames labelled as solved, where frames are labelled.
      negatives: frames labelled as not solved.
    """

    env_steps: int = 0
    episodes: int = 0
    recent: deque[Episode] = field(default_factory=lambda: deque(maxlen=RECENT))
    best_successes: int = 0
    best: Snapshot | None = None
    curve: list[tuple[int, bool]] = field(default_factory=list)
    corrections: list[tuple[int, int]] = field(default_factory=list)
    positives: int = 0
    negatives: int = 0

    def label(self, episode: Episode) -> None:
        """One more episode whose frames were labelled."""
        self.warm_up(episode)
        self.positives += episode.positives
        self.negatives += episode.negatives

    def warm_up(self, episode: Episode) -> None:
        """One more episode of another driver than the policy."""
        self.env_steps += episode.steps
        self.episodes += 1

    def add(self, episode: Episode) -> None:
        """One more training episode; one that was broken off says nothing of the policy."""
        self.warm_up(episode)
        if not episode.aborted:
            self.recent.append(episode)
        self.curve.append((self.env_steps, episode.success))
        self.corrections.append((episode.interventions, episode.intervened))

    def improve(self, snapshot: Snapshot) -> bool:
        """Whether the policy that ended the last episode is the best so far; ties: the newer one.

        Episodes that the window still lacks count as failures, so that one lucky first episode
        beats nothing; so do those in which somebody took over.
        """
        successes = sum(e.alone for e in self.recent)
        known = self.best is not None and self.best.version == snapshot.version
        if successes < self.best_successes:
            return False
        self.best_successes, self.best = successes, snapshot
        return not known

    @property
    def success(self) -> float:
        """Share of the last 20 episodes that succeeded; of those there are, before there are 20."""
        return sum(e.success for e in self.recent) / max(len(self.recent), 1)

    @property
    def alone(self) -> float:
        """As `success`, of those in which nobody took over."""
        return sum(e.alone for e in self.recent) / max(len(self.recent), 1)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it; without the best policy's parameters."""
        return {
            "env_steps": self.env_steps,
            "episodes": self.episodes,
            "recent": [asdict(episode) for episode in self.recent],
            "best_successes": self.best_successes,
            "curve": self.curve,
            "corrections": self.corrections,
            "positives": self.positives,
            "negatives": self.negatives,
            "best_version": None if self.best is None else self.best.version,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], best: Snapshot | None) -> Training:
        """What `to_plain` gave.

        A best policy of another version than was noted (the process was killed between the two
        files) is still the best there is; without one, the search for it begins anew.

        Raises:
          ValueError: it is no such thing; says what is wrong.
        """
        try:
            recent = deque((Episode(**episode) for episode in plain["recent"]), maxlen=RECENT)
            training = cls(int(plain["env_steps"]), int(plain["episodes"]), recent)
            training.best_successes = int(plain["best_successes"]) if best is not None else 0
            training.curve = [(int(steps), bool(success)) for steps, success in plain["curve"]]
            corrections = plain.get("corrections", [(0, 0)] * len(training.curve))
            training.corrections = [(int(count), int(steps)) for count, steps in corrections]
            training.positives = int(plain.get("positives", 0))
            training.negatives = int(plain.get("negatives", 0))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no training state: {error!r}") from error
        training.best = best
        return training


def intervention_metrics(recent: Sequence[Episode]) -> dict[str, float]:
    """How much operators intervened in the last training episodes, and in the very last."""
    last = recent[-1]
    steps = sum(episode.steps for episode in recent)
    intervened = sum(episode.intervened for episode in recent)
    return {
        "interventions": last.interventions,
        "intervention_rate": last.intervened / max(last.steps, 1),
        "interventions_last_20": sum(episode.interventions for episode in recent),
        "intervened_last_20": intervened,
        "intervention_rate_last_20": intervened / max(steps, 1),
    }
