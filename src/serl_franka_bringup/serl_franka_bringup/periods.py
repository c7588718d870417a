"""The control period of every step, from the stamps in its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from serl_actor.recorder import SENT
from serl_franka_bringup.picture import picture
from serl_learner.types import Record, Source

STAMPS = {"state": "the state at which the step was taken", "sent": "its command, as it was sent"}
"""What a step has stamps of, and what they are the times of."""


@dataclass(frozen=True)
class Step:
    """One step of the policy.

    Attributes:
      session, episode, step: which; see Record.
      state: stamp of the state at which it was taken, on the clock of the arm's states [ns].
      sent: when its command was sent, on the actor's steady clock [ns].
    """

    session: bytes
    episode: int
    step: int
    state: int
    sent: int


def steps_of(records: Iterable[Record]) -> list[Step]:
    """The steps of the policy among them; those of real time only: others have no `sent`."""
    return [
        Step(r.session, r.episode, r.step, r.stamp_ns, int(r.extras[SENT]))
        for r in records
        if r.action is not None and r.source == Source.POLICY and SENT in r.extras
    ]


def periods(steps: Iterable[Step], stamp: str) -> np.ndarray:
    """Times between consecutive steps of an episode by one of STAMPS, [N] [s].

    Nothing lies between two episodes, nor across a step that is missing.
    """
    known = {(s.session, s.episode, s.step): getattr(s, stamp) for s in steps}
    following = (
        (known.get((session, episode, step + 1)), ns)
        for (session, episode, step), ns in known.items()
    )
    return np.array([1e-9 * (after - ns) for after, ns in following if after is not None])


def resolution(steps: Sequence[Step], stamp: str) -> float:
    """The largest time of which every difference of these stamps is a multiple [s]; 0: none."""
    stamps = np.array(sorted({getattr(s, stamp) for s in steps}), np.int64)
    return 1e-9 * float(np.gcd.reduce(np.diff(stamps))) if len(stamps) > 1 else 0.0


def distribution(found: np.ndarray, nominal: float) -> dict[str, Any]:
    """Of periods [N] [s]: how many, their mean, and their overrun over `nominal`, in s.

    Raises:
      ValueError: there are none.
    """
    if not len(found):
        raise ValueError("no two consecutive steps of the policy in real time were recorded")
    over = found - nominal
    p50, p99 = np.percentile(over, (50, 99))
    return {
        "periods": len(found),
        "mean_period_s": float(found.mean()),
        "overrun_min_s": float(over.min()),
        "overrun_p50_s": float(p50),
        "overrun_p99_s": float(p99),
        "overrun_max_s": float(over.max()),
        "late_5_ms": int((over > 0.005).sum()),
    }


def draw(found: Mapping[str, np.ndarray], nominal: float, limit: float, out: Path) -> None:
    """A histogram of the overrun by each of STAMPS, its p99 and the limit of that [s]."""
    rows = len(found)
    with picture(out, rows, figsize=(7, 2.6 * rows), sharex=True) as panels:
        over = {stamp: 1e3 * (values - nominal) for stamp, values in found.items()}
        low = min(-2e3 * limit, *(values.min() for values in over.values()))
        high = max(2e3 * limit, *(values.max() for values in over.values()))
        bins = np.linspace(low, high, 121)
        for axes, (stamp, values) in zip(np.atleast_1d(panels), over.items(), strict=True):
            axes.hist(values, bins=bins, log=True, color="C0")
            p99 = float(np.percentile(values, 99))
            axes.axvline(p99, color="C1", label=f"p99 {p99:.2f} ms")
            axes.axvline(
                1e3 * limit, color="grey", linestyle="--", label=f"limit {1e3 * limit:g} ms"
            )
            axes.set(ylabel="steps", title=f"{STAMPS[stamp]} ({len(values):,} periods)")
            axes.title.set_fontsize("medium")
            axes.legend(fontsize="small")
        axes.set_xlabel(f"control period over {1e3 * nominal:g} ms [ms]")
