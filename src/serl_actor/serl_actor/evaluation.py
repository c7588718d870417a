"""Success rates of evaluation episodes, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serl_actor.rollout import Episode


def wilson_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Binomial 95 % interval of a rate (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


@dataclass(frozen=True)
class Evaluation:
    """Outcome of one policy over a set of start poses; mean time of the successes [s].

    `true_successes`: by the pose in the end, where a judge said what a success is; None: not known.
    """

    successes: int
    trials: int
    mean_time_s: float | None
    true_successes: int | None = None

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> Evaluation:
        """Counts episodes; an aborted one is no success."""
        times = [episode.seconds for episode in episodes if episode.success]
        mean = sum(times) / len(times) if times else None
        known = [e.true_success for e in episodes if e.true_success is not None]
        true = sum(known) if episodes and len(known) == len(episodes) else None
        return cls(len(times), len(episodes), mean, true)

    @property
    def rate(self) -> float:
        """Share of successes; 0 without trials."""
        return self.successes / max(self.trials, 1)


def summarise(evaluations: Mapping[str, Evaluation], chosen: str) -> dict[str, object]:
    """Flat result of several policies; `success` and `mean_time_s` are the chosen one's."""
    result: dict[str, object] = {"policy": chosen}
    for name, evaluation in evaluations.items():
        low, high = wilson_interval(evaluation.successes, evaluation.trials)
        result[f"success_{name}"] = evaluation.rate
        result[f"interval_{name}"] = [round(low, 4), round(high, 4)]
        result[f"mean_time_s_{name}"] = evaluation.mean_time_s
        if evaluation.true_successes is not None:
            result[f"true_success_{name}"] = evaluation.true_successes / max(evaluation.trials, 1)
    best = evaluations[chosen]
    result["success"] = best.rate
    result["successes"] = best.successes
    result["evaluation_episodes"] = best.trials
    result["mean_time_s"] = best.mean_time_s
    return result
