"""The safety table names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parents[4]


def test_every_test_of_the_safety_table_exists():
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("test_*.py", "test_*.cpp")
        for path in (WORKSPACE / "src").glob(f"*/test/**/{pattern}")
    )
    rows = [
        line
        for line in (WORKSPACE / "docs" / "safety.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "shown by" not in line
    ]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[-2])}
    assert len(named) > 30
    missing = {n for n in named if not re.search(rf"(def |, ){n}\b", sources)}
    assert not missing
