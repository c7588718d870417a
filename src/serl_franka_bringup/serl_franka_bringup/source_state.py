"""Which sources a run was made with: the commit, and what differs from it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

LONGEST_DIFF = 4 * 1024 * 1024
"""What differs is kept up to here [bytes]; the rest is left out, and that is said."""

_HERE = Path(__file__).resolve().parent

# Whatever the user's own settings of git are.
_PLAIN = ("--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")


def git_state(here: Path = _HERE) -> dict[str, Any]:
    """Commit of the sources and whether they differ from it; empty outside a git checkout."""
    try:
        commit = _git(here, "rev-parse", "HEAD").strip()
        return {"commit": commit, "dirty": bool(_git(here, "status", "--porcelain").strip())}
    except (OSError, subprocess.SubprocessError):
        return {}


def source_diff(here: Path = _HERE) -> str:
    """What differs from the commit, new files included, as `git apply` takes it; empty: nothing.

    Also empty outside a git checkout.
    """
    try:
        root = Path(_git(here, "rev-parse", "--show-toplevel").strip())
        parts = [_git(root, "diff", *_PLAIN, "HEAD")]
        listed = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
        for name in filter(None, listed.split("\0")):
            # Returns 1 because the two differ, as they are meant to.
            new = ("--no-index", "/dev/null", name)
            parts.append(_git(root, "diff", *_PLAIN, *new, fine=(0, 1)))
            if sum(map(len, parts)) > LONGEST_DIFF:
                break
    except (OSError, subprocess.SubprocessError):
        return ""
    text = "".join(parts)
    if len(text) > LONGEST_DIFF:
        text = f"{text[:LONGEST_DIFF]}\n# cut here: longer than {LONGEST_DIFF} bytes\n"
    return text


def _git(here: Path, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
    command = ["git", "-C", str(here), *arguments]
    result = subprocess.run(command, capture_output=True, timeout=10)
    if result.returncode not in fine:
        raise subprocess.CalledProcessError(result.returncode, command)
    return result.stdout.decode(errors="replace")
