"""Comparisons of training methods as Markdown tables, from the results of their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serl_actor.evaluation import wilson_interval
from serl_franka_bringup.learning_curves import WINDOW, running_success
from serl_franka_bringup.results_table import ROWS

STATE = {  # row of ROWS -> what the table calls it
    "pcb-rlpd": "RLPD, 8 critic updates a step",
    "pcb-utd4": "RLPD, 4 critic updates a step",
    "pcb-utd1": "RLPD, 1 critic update a step",
    "pcb-no-demonstrations": "without demonstrations, 8 updates",
    "pcb-bc": "behaviour cloning only",
}
VISION = {
    "pcb-vision-ros": "from images through ROS, 4 cached crops",
    "pcb-vision": "from images, 4 cached crops",
    "pcb-vision-k2": "from images, 2 cached crops",
    "pcb-vision-k1": "from images, none but the plain frame",
    "pcb-vision-small": "from images, small network end to end, small budget",
    "pcb-vision-blank": "images blanked",
    "pcb-vision-bc": "behaviour cloning from images",
}
LEVEL = 0.9
"""Success of the last 20 training episodes that is asked for."""
HEADER = (
    "policy",
    "command",
    "successes by seed",
    "all seeds (95 % interval)",
    f"env steps to {LEVEL:.0%} of the last {WINDOW}",
    "wall time [s]",
)
_SEED = re.compile(r"-seed(\d+)$")


@dataclass(frozen=True)
class Trial:
    """One seed of one row.

    Attributes:
      successes, episodes: of the evaluation of the policy that counts.
      reached: environment steps until LEVEL was first reached; None: never, or not asked.
      curve: there is a training to be judged.
    """

    seed: int
    successes: int
    episodes: int
    reached: int | None
    curve: bool
    wall_s: float


def steps_to_level(curve: Sequence[tuple[int, bool]], level: float = LEVEL) -> int | None:
    """Environment steps when the last 20 episodes first reached the level; None: never.

    Fewer than 20 episodes reach nothing.
    """
    if len(curve) < WINDOW:
        return None
    steps, rate = running_success(list(curve))
    reached = rate[WINDOW - 1 :] >= level - 1e-9
    return int(steps[WINDOW - 1 :][reached.argmax()]) if reached.any() else None


def read_trial(path: Path) -> Trial:
    """One result file; ValueError, naming it, if it is none of a seeded row."""
    match = _SEED.search(path.stem)
    try:
        content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        figures = content["figures"]
        if match is None:
            raise KeyError("seed in its name")
        curve = figures.get("curve", ())
        return Trial(
            seed=int(match[1]),
            successes=int(figures["successes"]),
            episodes=int(figures["evaluation_episodes"]),
            reached=steps_to_level(curve),
            curve=bool(curve),
            wall_s=float(content["wall_s"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no result of a seeded row: {error}") from error


def read_trials(directory: Path, row: str) -> list[Trial]:
    """All seeds of a row, in order."""
    trials = (read_trial(path) for path in seeded_files(directory, row))
    return sorted(trials, key=lambda trial: trial.seed)


def seeded_files(directory: Path, row: str) -> list[Path]:
    """Result files of a row, one for each seed."""
    pattern = re.compile(rf"{re.escape(row)}-seed\d+\.json")
    return [path for path in directory.glob("*.json") if pattern.fullmatch(path.name)]


def table(directory: Path, compared: Mapping[str, str] = STATE) -> str:
    """One table; rows that were not measured are left out."""
    rows = [
        _row(row, name, trials)
        for row, name in compared.items()
        if (trials := read_trials(directory, row))
    ]
    return markdown(HEADER, rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of these cells."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(row: str, name: str, trials: Sequence[Trial]) -> tuple[str, ...]:
    successes = sum(trial.successes for trial in trials)
    episodes = sum(trial.episodes for trial in trials)
    low, high = wilson_interval(successes, episodes)
    rate = successes / max(episodes, 1)
    pooled = f"{successes}/{episodes} = {rate:.0%} ({low:.0%}-{high:.0%})"
    command = f"`./serl results {row}{' --seed N' if ROWS[row].seeded else ''}`"
    reached = ", ".join(_reached(trials))
    seeds = ", ".join(f"{trial.successes}/{trial.episodes}" for trial in trials)
    return name, command, seeds, pooled, reached, ", ".join(f"{t.wall_s:.0f}" for t in trials)


def _reached(trials: Sequence[Trial]) -> Iterator[str]:
    for trial in trials:
        if not trial.curve:
            yield "-"
        else:
            yield "never" if trial.reached is None else f"{trial.reached:,}"
