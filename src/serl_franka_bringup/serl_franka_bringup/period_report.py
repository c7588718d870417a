"""Trains in real time and judges the control period of every step, from what was recorded.

`python -m serl_franka_bringup.period_report --minutes 10 --picture period.png` runs the ordinary
training session, with a simulator that is paced by the clock and an actor that waits for nobody.
The time counts from when the learner has begun to update. Judged are the steps that the policy
took in it, by two stamps: that of the state at which the step was taken, on the simulator's clock,
and that of its command, on the steady clock. A period lies between two consecutive steps of an
episode; its overrun is what it takes longer than it should.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from serl_franka_bringup import graph
from serl_franka_bringup.output import write_json
from serl_franka_bringup.own_session import ENDLESS, own_directory, plan_own, run_fresh
from serl_franka_bringup.periods import (
    STAMPS,
    Step,
    distribution,
    draw,
    periods,
    resolution,
    steps_of,
)
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.session import Ending
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.supervisor import Death, Supervisor
from serl_franka_bringup.task import OBSERVATIONS
from serl_franka_bringup.verdict import Check, judge, print_checks

LIMIT = 0.005
"""Of the overrun that 99 of 100 periods keep to [s]."""

FINAL = "the time is over"

GRACE = 300.0
"""For the learner to log what was done in the time [s]."""

RECORDED = 0.95
"""Share of the steps that must be found in the log."""


class TrainingTime:
    """A session's companion: the time that counts begins with the learner's first update.

    The session ends when the learner has received an episode more, at the latest after GRACE:
    what belongs to the time is in the log then.

    Attributes:
      began, ended: of the time that counts, on the steady clock [s]; None: it has not.
      updates, env_steps: of learner and actor, at the begin and at the end.
      deaths: of nodes, at any time.
    """

    def __init__(
        self, duration: float, episode_steps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`duration` in s; an episode has at most `episode_steps`."""
        self._duration, self._episode_steps, self._clock = duration, episode_steps, clock
        self.began: float | None = None
        self.ended: float | None = None
        self.updates = self.env_steps = (0.0, 0.0)
        self.deaths: list[str] = []

    def begin(self, domain: int) -> None:
        """Nothing counts yet."""

    def end(self) -> None:
        """Nothing to put away."""

    def attend(self, supervisor: Supervisor, progress: Progress, deaths: Sequence[Death]) -> str:
        """Says when the time is over."""
        self.deaths += [str(death) for death in deaths]
        now = self._clock()
        updates, steps, received = (
            progress.value(name) or 0.0
            for name in ("learner/updates", "actor/env_steps", "learner/online_steps")
        )
        if self.began is None:
            if updates > 0.0 and progress.phase(graph.JOB_NODE) == "training":
                self.began, self.updates, self.env_steps = now, (updates,) * 2, (steps,) * 2
        elif self.ended is None:
            self.updates, self.env_steps = (self.updates[0], updates), (self.env_steps[0], steps)
            self.ended = now if now - self.began >= self._duration else None
        else:
            logged = received >= self.env_steps[1] + self._episode_steps
            return FINAL if logged or now - self.ended >= GRACE else ""
        return ""

    def counts(self, step: Step) -> bool:
        """The step was taken in the time that counts."""
        if self.began is None or self.ended is None:
            return False
        return self.began <= 1e-9 * step.sent <= self.ended


def measure(steps: Iterable[Step], watch: TrainingTime) -> tuple[list[Step], dict[str, np.ndarray]]:
    """The steps in the time that counts, and their periods [N] [s] by each of STAMPS."""
    counted = [step for step in steps if watch.counts(step)]
    return counted, {stamp: periods(counted, stamp) for stamp in STAMPS}


def make_report(
    counted: Sequence[Step],
    found: Mapping[str, np.ndarray],
    watch: TrainingTime,
    ending: Ending,
    nominal: float,
    limit: float,
) -> dict[str, Any]:
    """What is said of the steps and periods that were measured, and what must hold of it."""
    stamps = {}
    for stamp, meaning in STAMPS.items():
        figures = distribution(found[stamp], nominal) if len(found[stamp]) else {}
        stamps[stamp] = {"of": meaning, "resolution_s": resolution(counted, stamp), **figures}
    seconds = (watch.ended or 0.0) - (watch.began or 0.0)
    return {
        **judge(_checks(watch, ending, len(counted), stamps, limit)),
        "nominal_s": nominal,
        "seconds": seconds,
        "steps": len(counted),
        "episodes": len({(step.session, step.episode) for step in counted}),
        "updates_per_s": (watch.updates[1] - watch.updates[0]) / seconds if seconds else 0.0,
        "actor_overruns": ending.progress.value("actor/overruns"),
        "camera_pauses": ending.progress.value("actor/camera_pauses"),
        "stamps": stamps,
    }


def _checks(
    watch: TrainingTime, ending: Ending, recorded: int, found: Mapping[str, Any], limit: float
) -> Iterator[Check]:
    ended = ending.how == "stopped" and ending.reason == FINAL
    yield Check("trained to the end of the time", ended, ending.reason)
    yield Check("no process died", not watch.deaths, "; ".join(watch.deaths) or "none")
    busy = watch.updates[1] > watch.updates[0]
    yield Check("the learner was busy", busy, f"{watch.updates[1] - watch.updates[0]:.0f} updates")
    done = watch.env_steps[1] - watch.env_steps[0]
    detail = f"{recorded} of about {done:.0f}"
    yield Check("the steps are in the log", recorded >= max(1.0, RECORDED * done), detail)
    for stamp, figures in found.items():
        name = f"p99 of the overrun by the stamps of '{stamp}' below {1e3 * limit:g} ms"
        if "overrun_p99_s" not in figures:
            yield Check(name, False, "no two consecutive steps were recorded")
            continue
        said = ", ".join(
            f"{part} {1e3 * figures[f'overrun_{part}_s']:.2f}" for part in ("p50", "p99", "max")
        )
        detail = f"{said} ms over {figures['periods']} periods"
        detail += f", stamps in steps of {1e3 * figures['resolution_s']:.3g} ms"
        yield Check(name, figures["overrun_p99_s"] < limit, detail)


def plan_session(given: argparse.Namespace) -> Plan:
    """The training session in real time, in a directory of its own."""
    options = {
        "demos": given.demos,
        "max_steps": ENDLESS,
        "sim.realtime": True,
        "sim.state_rate": given.state_rate,
        "actor.lockstep": False,
    }
    return plan_own(given, own_directory(given, "-realtime"), options)


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--observation", choices=OBSERVATIONS, default="image", help="of the task")
    parser.add_argument("--minutes", type=float, default=10.0, help="that count (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--demos", type=int, default=5, help="demonstrations before (default 5)")
    parser.add_argument(
        "--state-rate",
        type=float,
        default=250.0,
        help="of the simulator's states: their stamps are no finer [Hz] (default 250)",
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"of the overrun's p99 [s] (default {LIMIT})"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/period"))
    parser.add_argument("--picture", type=Path, help="PNG to write")
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


def read_steps(log: Path) -> list[Step]:
    """Every step of the policy in real time in a log.

    Raises:
      EpisodeError: a file is damaged; names it.
    """
    from serl_learner.ros_log import read_episode

    files = sorted(log.glob("*.mcap"))
    return [step for path in files for step in steps_of(read_episode(path).records)]


def main() -> int:
    """Trains, tells and draws; 0 if every check holds."""
    given = parse()
    plan = plan_session(given)
    task = plan.task.task
    watch = TrainingTime(60.0 * given.minutes, task.episode_steps)
    ending = run_fresh(plan, (watch,))
    nominal = task.control_period
    steps, found = measure(read_steps(plan.directory / "episodes"), watch)
    report = make_report(steps, found, watch, ending, nominal, given.limit)
    print_checks(report)
    if given.picture is not None and len(found["state"]):
        draw(found, nominal, given.limit, given.picture)
        print(f"picture: {given.picture}")
    write_json(given.json, report)
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
