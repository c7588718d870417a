"""What of a selection is taken, and what is said of the rest, for whoever writes episodes."""

from __future__ import annotations

import argparse

from serl_learner.data.selection import Selection
from serl_learner.episodes import Episode

SHOWN = 10
"""Reasons that are printed."""


def add_skip_bad(parser: argparse.ArgumentParser) -> None:
    """The option --skip-bad."""
    parser.add_argument(
        "--skip-bad", action="store_true", help="leave out what is unusable, and take the rest"
    )


def take(selection: Selection, skip_bad: bool, only_successes: bool = False) -> list[Episode]:
    """The episodes to write; none if something is unusable and not to be skipped. Prints which
    are taken, which not, and why nothing is written."""
    print("\n".join(_describe(selection)))
    if selection.unusable and not skip_bad:
        print("nothing is written; --skip-bad takes the rest")
        return []
    episodes = selection.episodes
    if only_successes:
        episodes = [episode for episode in episodes if episode.records[-1].success]
    if not episodes:
        print("nothing is written: there is no episode to take")
    return episodes


def _describe(selection: Selection) -> list[str]:
    apart = f", {selection.apart}" if selection.left_out else ""
    lines = [f"{len(selection.episodes)} episodes to take{apart}"]
    lines += [f"  unusable: {text}" for text in selection.unusable[:SHOWN]]
    if len(selection.unusable) > SHOWN:
        lines.append(f"  and {len(selection.unusable) - SHOWN} more")
    return lines
