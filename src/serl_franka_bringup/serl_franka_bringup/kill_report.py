"""What a kill matrix showed: one row for each kill, one line for each thing that must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from serl_franka_bringup.kill_plan import Kill
from serl_franka_bringup.killer import Survival
from serl_franka_bringup.log_audit import DOUBLED, LOST, MISLABELLED, UNKNOWN, Audit
from serl_franka_bringup.verdict import Check, judge, print_checks

SHOWN_FAULTS = 50
"""Of each audit in the report; all are counted."""


@dataclass(frozen=True)
class Limits:
    """What the run must keep to.

    Attributes:
      resumption: from a respawn until training goes on [s].
      success: of the policy at the end, 0 .. 1.
    """

    resumption: float = 10.0
    success: float = 0.9


@dataclass(frozen=True)
class Outcome:
    """A run that was killed again and again.

    Attributes:
      planned, survivals: kills, in their order.
      began: of the session, on the steady clock [s].
      result: of the job.
      counters: the learner's own, as last heard; None: never.
      audit: of the log.
      unreadable: its files that cannot be read, in words.
      torn_lines: of the journal, cut off by kills.
      withdrawn: acknowledgements that went back, in words.
    """

    planned: Sequence[Kill]
    survivals: Sequence[Survival]
    began: float
    result: Mapping[str, Any]
    counters: Mapping[str, float | None]
    audit: Audit
    unreadable: Sequence[str]
    torn_lines: int
    withdrawn: Sequence[str]


def make_report(outcome: Outcome, limits: Limits) -> dict[str, Any]:
    """All of it as JSON has it; `passed` is true if every check holds."""
    found = outcome.audit
    return {
        **judge(_checks(outcome, limits)),
        "kills": [_row(survival, outcome.began) for survival in outcome.survivals],
        "kinds": _by_kind(outcome.survivals),
        "audit": {
            **asdict(replace(found, faults=())),
            "faults": [str(fault) for fault in found.faults[:SHOWN_FAULTS]],
            "torn_journal_lines": outcome.torn_lines,
        },
        "learner": dict(outcome.counters),
        "result": {k: v for k, v in outcome.result.items() if k != "curve"},
        "curve": outcome.result.get("curve"),
    }


def _checks(outcome: Outcome, limits: Limits) -> Iterator[Check]:
    result, found = outcome.result, outcome.audit
    yield Check("the job ended", result["ended"] == "done", result["reason"] or "done")
    done, planned = len(outcome.survivals), len(outcome.planned)
    yield Check("every kill was carried out", done == planned, f"{done} of {planned}")
    late = [
        f"{s.kind} in {s.phase}: {'never' if s.resumed is None else f'{s.resumed:.1f} s'}"
        for s in outcome.survivals
        if s.resumed is None or s.resumed > limits.resumption
    ]
    slowest = max((s.resumed or 0.0 for s in outcome.survivals), default=0.0)
    detail = "; ".join(late) or f"at most {slowest:.1f} s"
    yield Check(f"resumed within {limits.resumption:g} s of the respawn", not late, detail)
    detail = f"{found.acknowledged} acknowledged, {found.journalled} in the actor's journal"
    yield Check("there is something to compare", found.acknowledged > 0, detail)
    detail = "; ".join(outcome.unreadable) or "all"
    yield Check("every file of the log can be read", not outcome.unreadable, detail)
    counted = f"of {found.acknowledged} acknowledged, {found.stored} stored"
    for kind in (LOST, DOUBLED, MISLABELLED, UNKNOWN):
        faults = [fault for fault in found.faults if fault.kind == kind]
        first = f"; first: {faults[0].detail}" if faults else ""
        yield Check(f"no record {kind}", not faults, f"{len(faults)} {counted}{first}")
    yield Check(
        "no acknowledgement taken back", not outcome.withdrawn, "; ".join(outcome.withdrawn) or "0"
    )
    for name in ("online_steps", "demonstrations"):
        said, logged = outcome.counters.get(name), getattr(found, name)
        detail = f"{said if said is None else int(said)}, in the log {logged}"
        yield Check(f"the learner's {name} agree with the log", said == logged, detail)
    success = result["success"]
    detail = "none" if success is None else f"{success:.0%}"
    yield Check(
        f"success of at least {limits.success:.0%}",
        success is not None and success >= limits.success,
        detail,
    )


def _row(survival: Survival, began: float) -> dict[str, Any]:
    row = asdict(survival)
    row.update(row.pop("in_flight"))
    row["time_s"] = round(survival.killed_at - began, 2)
    respawned = survival.respawned_at
    row["respawn_s"] = None if respawned is None else respawned - survival.killed_at
    row["resumed"] = survival.resumed
    del row["killed_at"], row["respawned_at"]
    return row


def _by_kind(survivals: Sequence[Survival]) -> dict[str, dict[str, Any]]:
    """Number of kills and times until resumption [s], by kind of node."""
    kinds: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(s.kind for s in survivals):
        times = sorted(s.resumed for s in survivals if s.kind == kind and s.resumed is not None)
        kinds[kind] = {
            "kills": sum(s.kind == kind for s in survivals),
            "median_s": times[len(times) // 2] if times else None,
            "worst_s": times[-1] if times else None,
        }
    return kinds


COLUMNS = (  # title, key of a kill's row, format
    ("time", "time_s", "{:.0f} s"),
    ("node", "kind", "{}"),
    ("phase", "phase", "{}"),
    ("moment", "moment", "{}"),
    ("env steps", "env_steps", "{}"),
    ("sent, not received", "unreceived", "{}"),
    ("not durable", "unacknowledged", "{}"),
    ("respawned", "respawn_s", "{:.1f} s"),
    ("up", "up", "{:.1f} s"),
    ("step", "step", "{:.1f} s"),
    ("update", "update", "{:.1f} s"),
    ("resumed", "resumed", "{:.1f} s"),
)


def print_report(report: Mapping[str, Any]) -> None:
    """The kills as a table, then the checks."""
    rows = [[title for title, _, _ in COLUMNS]]
    for kill in report["kills"]:
        rows.append(["-" if kill[k] is None else f.format(kill[k]) for _, k, f in COLUMNS])
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    print()
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )
    print()
    for kind, times in report["kinds"].items():
        if times["worst_s"] is not None:
            median, worst = times["median_s"], times["worst_s"]
            print(
                f"{kind:<16}{times['kills']} kills, resumed in {median:.1f} s, worst {worst:.1f} s"
            )
    print_checks(report)
    for fault in report["audit"]["faults"]:
        print(f"     {fault}")
