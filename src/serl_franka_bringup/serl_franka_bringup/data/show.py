"""Draws an episode: pictures of each camera, and curves of observation, action and reward."""

from __future__ import annotations

import argparse
from pathlib import Path

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.data_picture import draw


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the action's options."""
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.add_argument("--episode", type=int, default=0, help="which, counted from 0 (default 0)")
    parser.add_argument("-o", "--out", type=Path, required=True, help="PNG to write")


def run(arguments: argparse.Namespace) -> int:
    """Draws.

    Raises:
      ConfigError: there is no such episode, or it has no step.
    """
    from serl_learner.ros_bag import read_recordings

    count = 0
    for recording in read_recordings([arguments.path]):
        for recorded in recording.episodes:
            if count == arguments.episode:
                records = recorded.episode.records
                if all(record.action is None for record in records):
                    raise ConfigError(f"{recorded.name} has no step")
                draw(records, recorded.name, arguments.out)
                print(f"{arguments.out}: {recorded.name}, {len(records)} records")
                return 0
            count += 1
    raise ConfigError(f"{arguments.path} holds {count} episodes; there is no {arguments.episode}")
