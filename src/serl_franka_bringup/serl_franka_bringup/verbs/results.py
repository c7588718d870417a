"""`results`: runs one row of docs/results.md again and writes its figures as JSON.

The file holds the commit, the seed, the command, without the directories of this machine, and the
figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serl_franka_bringup.output import write_json
from serl_franka_bringup.results_table import ROWS
from serl_franka_bringup.source_state import git_state

HELP = "run one row of the result tables"
EXAMPLES = """examples:
  ./serl results --list
  ./serl results pcb-rlpd --seed 1
  ./serl results kill-matrix --kills 3
  ./serl results --table"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("name", nargs="?", choices=sorted(ROWS), metavar="NAME", help="the row")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument(
        "--table", action="store_true", help="print the comparisons of methods as Markdown"
    )
    parser.add_argument("--seed", type=int, default=0, help="of a seeded row (default 0)")
    parser.add_argument("--out", type=Path, help="where results go (default docs/results)")
    parser.set_defaults(takes_options=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs the row and passes its exit code on."""
    out = arguments.out or default_directory()
    row = ROWS.get(arguments.name)
    if arguments.options and (row is None or not row.options):
        arguments.command.error(f"unrecognized arguments: {' '.join(arguments.options)}")
    if arguments.table:
        from serl_franka_bringup import comparison

        for compared in (comparison.STATE, comparison.VISION):
            print(f"{comparison.table(out, compared)}\n")
        return 0
    if arguments.list or row is None:
        for name, row in ROWS.items():
            print(f"{name:<23}{row.meaning}")
        return 0 if arguments.list else 2
    with tempfile.TemporaryDirectory() as scratch:
        options = [*arguments.options, *(["--seed", str(arguments.seed)] if row.seeded else [])]
        command = [part.replace("{scratch}", scratch) for part in row.command]
        command = [part.replace("{out}", str(out)) for part in command]
        code, wall_s, figures = _measure(command + options, Path(scratch))
    result = {
        "name": arguments.name,
        "meaning": row.meaning,
        "git": git_state(),
        "seed": arguments.seed if row.seeded else None,
        "command": shlex.join(["python", *row.command, *options]),
        "machine": f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}",
        "wall_s": wall_s,
        "exit_code": code,
        "figures": figures,
    }
    suffix = f"-seed{arguments.seed}" if row.seeded else ""
    path = out / f"{arguments.name}{suffix}.json"
    if figures is not None:
        write_json(path, result)
        print(f"written: {path}")
    write_json(arguments.json, result)
    return code if figures is not None else code or 1


def _measure(command: list[str], scratch: Path) -> tuple[int, float, dict | None]:
    """Runs a Python command line; its exit code, its time [s] and its figures."""
    file = scratch / "figures.json"
    begin = time.monotonic()
    code = subprocess.run([sys.executable, *command, "--json", str(file)]).returncode
    wall_s = time.monotonic() - begin
    figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    return code, wall_s, figures


def default_directory() -> Path:
    """`docs/results` of the workspace, or of the current directory outside a checkout."""
    workspace = Path(__file__).resolve().parents[4]
    return (workspace if (workspace / "docs").is_dir() else Path.cwd()) / "docs" / "results"
