"""Writes episodes for others: as a LeRobot data set (v3.0), or as one .npz file each (RLDS).

LeRobot: what is observed beside pictures is `observation.state`, pictures are videos (lossy), and
`next.reward`, `next.done` and `next.success` lie beside the action. A frame is a step, so the
final observation of an episode is left out.

RLDS: episode_000000.npz and so on, each with the steps' `observation/<key>`, `action`, `reward`,
`discount`, `is_first`, `is_last`, `is_terminal`, all of the same length; the last step is the final
observation, its action and reward are 0. dataset.json says what there is. Left out are `success`,
`aborted` and `truncated`, the policy's version, the session and the extras.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.data.layout import add_task, given_layout
from serl_franka_bringup.data.taking import add_skip_bad, take
from serl_learner.data.selection import select
from serl_learner.types import Record

FORMATS = ("lerobot", "rlds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the action's options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--format", choices=FORMATS, required=True)
    add_task(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, help="directory, new or empty")
    parser.add_argument("--instruction", help="the task in words (default: its name)")
    parser.add_argument("--successes", action="store_true", help="only episodes that succeed")
    add_skip_bad(parser)


def run(arguments: argparse.Namespace) -> int:
    """Writes them; 1 if something is unusable.

    Raises:
      ConfigError: the directory is not empty or cannot be written, or the episodes do not fit the
        format.
    """
    from serl_learner.ros_bag import read_recordings

    if arguments.out.exists() and (not arguments.out.is_dir() or any(arguments.out.iterdir())):
        raise ConfigError(f"{arguments.out} is not empty: nothing is written over")
    found = select(read_recordings(arguments.paths), *given_layout(arguments))
    taken = take(found, arguments.skip_bad, only_successes=arguments.successes)
    if not taken:
        return 1
    episodes = [episode.records for episode in taken]
    instruction = arguments.instruction or Path(arguments.task or "demonstration").stem
    write_dataset(arguments.format, arguments.out, episodes, instruction)
    steps = sum(len(records) - 1 for records in episodes)
    print(f"{arguments.out}: {len(episodes)} episodes, {steps:,} steps ({arguments.format})")
    return 0


def write_dataset(form: str, out: Path, episodes: list[list[Record]], instruction: str) -> None:
    """In one of FORMATS, as a directory that is there whole or not at all.

    Raises:
      ConfigError: the episodes do not fit it, or it cannot be written.
    """
    from serl_franka_bringup.data import lerobot, rlds  # these load what others do without

    writer = lerobot.write if form == "lerobot" else rlds.write
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as beside:
            unfinished = Path(beside) / "dataset"
            writer(unfinished, episodes, instruction)
            unfinished.rename(out)  # over an empty directory, too
    except (OSError, ValueError) as error:
        raise ConfigError(f"{out} is not written: {error}") from error
