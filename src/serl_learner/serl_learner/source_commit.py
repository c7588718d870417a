"""Which sources run."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path


@cache
def source_commit() -> str | None:
    """Commit of the sources that run, "+" if they differ from it; None outside a checkout."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).resolve().parent), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=5
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None
