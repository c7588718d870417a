"""Things that must hold of a measurement, each with what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that must hold."""

    name: str
    holds: bool
    detail: str


def judge(checks: Iterable[Check]) -> dict[str, Any]:
    """As JSON has it; `passed` is true if all hold."""
    known = list(checks)
    return {
        "passed": all(check.holds for check in known),
        "checks": [asdict(check) for check in known],
    }


def print_checks(report: Mapping[str, Any]) -> None:
    """One line for each check that `judge` took down."""
    for check in report["checks"]:
        print(f"{'ok  ' if check['holds'] else 'FAIL'} {check['name']}: {check['detail']}")
