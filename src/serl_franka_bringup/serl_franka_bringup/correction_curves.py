"""What corrections are worth: success of the policy alone and how much was intervened, by steps.

`python -m serl_franka_bringup.correction_curves docs/results --out docs/results/pcb_hil.png` draws
both and prints the table. The policy's own success is that of evaluations amid training, in which
nobody takes over.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from serl_franka_bringup.comparison import LEVEL, markdown, seeded_files
from serl_franka_bringup.learning_curves import WINDOW
from serl_franka_bringup.picture import picture

COMPARED = {  # row of ROWS -> what it is called
    "pcb-hil-none": "RLPD, demonstrations alone",
    "pcb-imitate": "RLPD, demonstrations alone, imitated",
    "pcb-hil": "RLPD with corrections, imitated",
    "pcb-warm-start": "RLPD from a warm start, demonstrations alone",
    "pcb-hil-warm-start": "RLPD from a warm start, with corrections",
    "pcb-hg-dagger": "HG-DAgger",
}
HEADER = (
    "what is learned from",
    "row",
    f"env steps to {LEVEL:.0%} by seed",
    "successes at the end",
    f"steps driven by the person: first {WINDOW} episodes, last {WINDOW}",
)


@dataclass(frozen=True)
class Course:
    """One training.

    Attributes:
      seed: of it.
      evaluated: environment steps at each evaluation amid training, [N], rising.
      success: of the sampled policy there, [N], 0 .. 1.
      ends: environment steps after each training episode, [M].
      driven: steps of it that the person drove, [M]; none where nobody takes over.
      successes, episodes: of the evaluation at the end.
    """

    seed: int
    evaluated: np.ndarray
    success: np.ndarray
    ends: np.ndarray
    driven: np.ndarray
    successes: int
    episodes: int

    @property
    def reached(self) -> int | None:
        """Environment steps at the first evaluation from which on the level is kept; None: never.

        One lucky evaluation reaches nothing: the next, if there is one, must be at the level, too.
        """
        enough = self.success >= LEVEL - 1e-9
        for index in range(len(enough)):
            if np.all(enough[index : index + 2]):
                return int(self.evaluated[index])
        return None

    def share(self) -> tuple[np.ndarray, np.ndarray]:
        """Environment steps [M] and the share [M] of the steps of the last 20 episodes there that
        the person drove."""
        driven = np.concatenate(((0,), np.cumsum(self.driven)))
        ends = np.concatenate(((0,), self.ends))
        index = np.arange(1, len(ends))
        first = np.maximum(index - WINDOW, 0)
        return self.ends, (driven[index] - driven[first]) / (ends[index] - ends[first])


def read_course(path: Path) -> Course:
    """Of a result file; ValueError, naming it, if it is none of a training with evaluations."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        figures = content["figures"]
        evaluations = figures["evaluations"]
        ends = np.array([steps for steps, _ in figures["curve"]], int)
        corrections = figures.get("corrections", [])
        return Course(
            seed=int(content["seed"]),
            evaluated=np.array([e["env_steps"] for e in evaluations], int),
            success=np.array([e["success_sampled"] for e in evaluations], float),
            ends=ends,
            driven=np.array([steps for _, steps in corrections] or np.zeros(len(ends)), int),
            successes=int(figures["successes"]),
            episodes=int(figures["evaluation_episodes"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no training with evaluations: {error!r}") from error


def read_courses(directory: Path) -> dict[str, list[Course]]:
    """By row, those that were measured; the seeds of each in order."""
    found = {row: [read_course(path) for path in seeded_files(directory, row)] for row in COMPARED}
    return {row: sorted(them, key=lambda c: c.seed) for row, them in found.items() if them}


def table(courses: dict[str, list[Course]]) -> str:
    """As Markdown."""
    return markdown(HEADER, [_row(row, them) for row, them in courses.items()])


def _row(row: str, courses: Sequence[Course]) -> tuple[str, ...]:
    reached = (c.reached for c in courses)
    return (
        COMPARED[row],
        f"`{row}`",
        ", ".join("never" if steps is None else f"{steps:,}" for steps in reached),
        ", ".join(f"{c.successes}/{c.episodes}" for c in courses),
        ", ".join(_fall(c) for c in courses) if any(c.driven.any() for c in courses) else "-",
    )


def _fall(course: Course) -> str:
    """From the first episodes to the last."""
    _, share = course.share()
    return f"{share[min(WINDOW, len(share)) - 1]:.0%} -> {share[-1]:.0%}"


def draw(courses: dict[str, list[Course]], out: Path) -> None:
    """Success over environment steps above, the person's share of them below."""
    with picture(out, 2, figsize=(7, 7), sharex=True) as (success, share):
        for number, (row, them) in enumerate(courses.items()):
            for course in them:
                name = COMPARED[row] if course is them[0] else None
                style = {"color": f"C{number}", "linewidth": 1, "label": name}
                success.plot(course.evaluated, 100 * course.success, marker=".", **style)
                if course.driven.any():
                    share.plot(course.ends, 100 * course.share()[1], **style)
        success.axhline(100 * LEVEL, color="grey", linestyle="--", linewidth=1)
        success.set(ylabel="success of the policy alone [%]", ylim=(-2, 102))
        share.set(
            xlabel="environment steps",
            ylabel=f"driven by the person,\nlast {WINDOW} episodes [% of steps]",
            ylim=(-2, 102),
        )
        for axes in (success, share):
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=8)


def main() -> None:
    """Draws and prints what is in a directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="of results as JSON")
    parser.add_argument("--out", type=Path, required=True, help="PNG to write")
    given = parser.parse_args()
    courses = read_courses(given.directory)
    if not courses:
        parser.error(f"{given.directory} holds no result of {', '.join(COMPARED)}")
    draw(courses, given.out)
    print(table(courses))


if __name__ == "__main__":
    main()
