"""Trains without end and watches the memory of every process.

`python -m serl_franka_bringup.memory_soak --minutes 30 --picture memory.png` runs the ordinary
training session. Replay gets so little memory that it is full long before the end. The exit code
is 0 if no process died, none grows over the last two thirds, and replay kept to its limit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from serl_franka_bringup.memory_watch import (
    MEBIBYTE,
    MemoryWatch,
    Sample,
    growth,
    names_of,
)
from serl_franka_bringup.output import write_json
from serl_franka_bringup.own_session import ENDLESS, own_directory, plan_own, run_fresh
from serl_franka_bringup.picture import picture
from serl_franka_bringup.session import Ending
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.task import OBSERVATIONS
from serl_franka_bringup.verdict import Check, judge, print_checks


def make_report(watch: MemoryWatch, ending: Ending, limit: float) -> dict[str, Any]:
    """All samples, and what they say; `limit` of the growth [MiB/h]."""
    samples = watch.samples
    processes = {}
    for name in names_of(samples):
        last = next(s.memory[name] for s in reversed(samples) if name in s.memory)
        processes[name] = {
            "rss_mib": last.rss / MEBIBYTE,
            "pss_mib": last.pss / MEBIBYTE,
            "uss_mib": last.uss / MEBIBYTE,
            "rss_mib_per_hour": growth(samples, name),
            "uss_mib_per_hour": growth(samples, name, "uss"),
        }
    return {
        **judge(_checks(watch, ending, processes, limit)),
        "processes": processes,
        "env_steps": ending.progress.value("actor/env_steps"),
        "updates": ending.progress.value("learner/updates"),
        "wall_s": ending.wall_s,
        "samples": [asdict(sample) for sample in samples],
    }


def _checks(
    watch: MemoryWatch, ending: Ending, processes: dict[str, Any], limit: float
) -> Iterator[Check]:
    ended = ending.how == "stopped"
    yield Check("trained to the end of the time", ended, ending.reason)
    yield Check("no process died", not watch.deaths, "; ".join(watch.deaths) or "none")
    for name, process in processes.items():
        rate = process["rss_mib_per_hour"]
        detail = "too few samples" if rate is None else f"{rate:+.1f} MiB/h"
        holds = rate is not None and rate <= limit
        yield Check(f"{name} grows by at most {limit:g} MiB/h", holds, detail)
    fills = [(s.replay, s.replay_limit) for s in watch.samples if s.replay is not None]
    most = max((fill for fill, _ in fills), default=0.0)
    most_allowed = max((allowed or 0.0 for _, allowed in fills), default=0.0)
    holds = bool(fills) and all(allowed is not None and fill <= allowed for fill, allowed in fills)
    detail = f"{most / MEBIBYTE:.2f} of {most_allowed / MEBIBYTE:.2f} MiB"
    yield Check("replay within its limit", holds, detail)


def draw(samples: Sequence[Sample], out: Path) -> None:
    """One line for each process; below, replay's fill against its limit."""
    with picture(out, rows=2, figsize=(7, 6), sharex=True, height_ratios=(2, 1)) as axes:
        upper, lower = axes
        for name in names_of(samples):
            known = [
                (s.time / 60, s.memory[name].rss / MEBIBYTE) for s in samples if name in s.memory
            ]
            upper.plot([minute for minute, _ in known], [mib for _, mib in known], label=name)
        upper.set(ylabel="resident memory [MiB]")
        upper.set_ylim(bottom=0)
        upper.legend(loc="upper left", fontsize="small")
        filled = [s for s in samples if s.replay is not None and s.replay_limit is not None]
        minutes = [s.time / 60 for s in filled]
        lower.plot(minutes, [(s.replay or 0) / MEBIBYTE for s in filled], label="replay in use")
        allowed = [(s.replay_limit or 0) / MEBIBYTE for s in filled]
        lower.plot(minutes, allowed, color="grey", linestyle="--", label="its limit")
        lower.set(xlabel="minutes", ylabel="replay [MiB]")
        lower.set_ylim(bottom=0)
        lower.legend(loc="lower right", fontsize="small")


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--observation", choices=OBSERVATIONS, default="state", help="of the task")
    parser.add_argument("--minutes", type=float, default=30.0, help="of the session (default 30)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--period", type=float, default=5.0, help="between samples [s] (default 5)")
    parser.add_argument("--growth", type=float, default=20.0, help="limit [MiB/h] (default 20)")
    parser.add_argument(
        "--replay-mib", type=float, default=2.0, help="for each half of replay (default 2)"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/memory"))
    parser.add_argument("--picture", type=Path, help="PNG to write")
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


def main() -> int:
    """Soaks, tells and draws; 0 if every check holds."""
    given = parse()
    limit = int(given.replay_mib * MEBIBYTE)
    limits = {"learner.replay_bytes": limit, "learner.prior_bytes": limit}
    plan = plan_own(given, own_directory(given), {"max_steps": ENDLESS, **limits})
    watch = MemoryWatch(60.0 * given.minutes, given.period)
    ending = run_fresh(plan, (watch,))
    report = make_report(watch, ending, given.growth)
    print_checks(report)
    if given.picture is not None:
        draw(watch.samples, given.picture)
        print(f"picture: {given.picture}")
    write_json(given.json, report)
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
