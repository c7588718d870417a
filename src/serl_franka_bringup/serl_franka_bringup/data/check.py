"""Looks episodes over: lengths, flags, rewards, actions, gaps, pictures, keys and sizes.

Prints a summary and what was found. The exit code is 1 if anything is unusable. What is merely
incomplete, because a recorder was killed or came late, is left out by whoever learns from it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from serl_franka_bringup.data.layout import add_task, given_layout
from serl_franka_bringup.output import write_json
from serl_learner.data.lint import looked_over
from serl_learner.data.recording import Finding, Level
from serl_learner.data.summary import Summary

SHOWN = 20
"""Findings of a level that are printed; --all prints every one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the action's options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    add_task(parser)
    parser.add_argument("--all", action="store_true", help="print every finding")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here")


def run(arguments: argparse.Namespace) -> int:
    """Checks; 1 if anything is unusable."""
    from serl_learner.ros_bag import read_recordings

    spec, dim, rewards = given_layout(arguments)
    summary = Summary()
    found: list[tuple[str, Finding]] = []
    for recording in read_recordings(arguments.paths):
        found += [(recording.source, finding) for finding in recording.findings]
        for recorded in recording.episodes:
            seen = looked_over(recorded, spec or summary.spec, dim, rewards)
            summary.add(seen)
            found += [(seen.name, finding) for finding in seen.findings]
    print("\n".join([*summary.lines(), *_describe(found, arguments.all)]))
    unusable = sum(finding.level is Level.UNUSABLE for _, finding in found)
    findings = [{"where": w, "level": f.level.value, "text": f.text} for w, f in found]
    write_json(arguments.json, {**summary.to_plain(), "findings": findings})
    return 1 if unusable else 0


def _describe(found: list[tuple[str, Finding]], everything: bool) -> list[str]:
    """Lines for each level, the worst first."""
    lines = []
    for level in Level:
        those = [f"{where}: {finding.text}" for where, finding in found if finding.level is level]
        shown = those if everything else those[:SHOWN]
        if those:
            lines += ["", f"{level.value} ({len(those)})", *(f"  {text}" for text in shown)]
        if len(shown) < len(those):
            lines.append(f"  and {len(those) - len(shown)} more: --all")
    return lines
