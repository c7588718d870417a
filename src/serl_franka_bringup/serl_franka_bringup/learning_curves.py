"""Draws learning curves from results: success of the last 20 episodes over environment steps.

`python -m serl_franka_bringup.learning_curves docs/results/pcb-ros-seed*.json --out curves.png`
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from serl_franka_bringup.picture import picture

WINDOW = 20
"""Episodes that the success rate is taken over."""


def running_success(curve: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    """Environment steps [N] and success rate of the last 20 episodes [N] after every episode."""
    steps = np.array([point[0] for point in curve])
    success = np.array([float(point[1]) for point in curve])
    total = np.concatenate(((0.0,), np.cumsum(success)))
    index = np.arange(1, len(success) + 1)
    first = np.maximum(index - WINDOW, 0)
    return steps, (total[index] - total[first]) / (index - first)


def find_curve(result: Any) -> list[tuple[int, bool]]:
    """The `curve` of a run's result, or of one wrapped by `./serl results`; KeyError if none."""
    return result["curve"] if "curve" in result else result["figures"]["curve"]


def row_of(file: Path) -> str:
    """The row that a result file `<row>-seed<seed>.json` is of."""
    return file.stem.rpartition("-seed")[0] or file.stem


def draw(files: list[Path], out: Path, level: float | None) -> None:
    """One line for each result file; `level` is drawn as the rate of behaviour cloning.

    Files of several rows: the seeds of a row share its colour and its place in the legend.
    """
    with picture(out, figsize=(7, 4)) as axes:
        rows = list(dict.fromkeys(row_of(file) for file in files))
        named: set[str] = set()
        for file in files:
            steps, rate = running_success(find_curve(json.loads(file.read_text(encoding="utf-8"))))
            if len(rows) == 1:
                axes.plot(steps, 100 * rate, label=file.stem)
                continue
            row = row_of(file)
            label = "_" if row in named else row
            axes.plot(steps, 100 * rate, color=f"C{rows.index(row)}", label=label, linewidth=1)
            named.add(row)
        if level is not None:
            axes.axhline(100 * level, color="grey", linestyle="--", label="behaviour cloning")
        axes.set(xlabel="environment steps", ylabel="success of the last 20 episodes [%]")
        axes.set_ylim(-2, 102)
        axes.legend()


def main() -> None:
    """Parses the command line and draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="results as JSON")
    parser.add_argument("--out", type=Path, required=True, help="PNG to write")
    parser.add_argument("--cloning", type=float, help="success rate of cloning, as a level")
    arguments = parser.parse_args()
    draw(arguments.files, arguments.out, arguments.cloning)


if __name__ == "__main__":
    main()
