"""Takes episodes into a directory, one file each: of bags, or SERL's and HIL-SERL's pickles.

All of it is checked before anything is written, and what is there already is not written again.
The directory can then be learned from: ./serl run TASK demonstrations:=DIR.

A pickle may hold arrays, numbers and texts; whatever else it names is refused. Say which of its
arrays is which key: --map 'image/wrist=wrist_1' --map 'state/tcp_pose=state[4:10]', or --mapping
FILE.yaml, which can also scale:

  observation:
    image/wrist: wrist_1
    state/tcp_pose: {from: state.tcp_pose, euler: true, scale: [0.05, 0.05, 0.05, 0.35, 0.35, 0.35]}
    state/wrench: {from: [state.tcp_force, state.tcp_torque], scale: 10, tanh: true}
    state/target_offset: {zeros: 6}
  action: actions[0:6]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from serl_franka_bringup.config import ConfigError, read_yaml
from serl_franka_bringup.data.layout import Layout, add_task, given_layout
from serl_franka_bringup.data.taking import add_skip_bad, take
from serl_learner.data.bag_file import read_metadata
from serl_learner.data.from_transitions import Reading, mappable, session_of
from serl_learner.data.keymap import BadMapping, parse_map
from serl_learner.data.recording import RecordedEpisode, Recording
from serl_learner.data.selection import Selection, select
from serl_learner.data.serl_pickle import SUFFIXES, BadPickle, load_transitions
from serl_learner.episodes import EpisodeError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the action's options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    add_task(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--map", action="append", default=[], metavar="KEY=SOURCE")
    parser.add_argument("--mapping", type=Path, metavar="FILE", help="the same, as YAML")
    parser.add_argument(
        "--period", type=float, default=0.1, help="between two steps of a pickle [s] (default 0.1)"
    )
    parser.add_argument("--clip", action="store_true", help="clip a pickle's actions to [-1, 1]")
    add_skip_bad(parser)


def run(arguments: argparse.Namespace) -> int:
    """Takes them in; 1 if something is unusable.

    Raises:
      ConfigError: a pickle or its mapping cannot be read, or a task's layout not be made.
    """
    episodes = take(_select(arguments, given_layout(arguments)), arguments.skip_bad)
    if not episodes:
        return 1
    from serl_learner.ros_keeping import keep_episodes

    try:
        added = keep_episodes(arguments.out, episodes)
    except (EpisodeError, OSError) as error:
        raise ConfigError(f"{arguments.out}: not all is written: {error}") from error
    there = len(episodes) - added
    print(f"{arguments.out}: {added} episodes written, {there} were there already")
    return 0


def _select(arguments: argparse.Namespace, layout: Layout) -> Selection:
    from serl_learner.ros_bag import read_recordings

    pickles = [path for path in arguments.paths if path.suffix in SUFFIXES]
    bags = [path for path in arguments.paths if path.suffix not in SUFFIXES]
    recordings = [*read_recordings(bags), *(_read_pickle(path, arguments) for path in pickles)]
    return select(recordings, *layout)


def _read_pickle(path: Path, arguments: argparse.Namespace) -> Recording:
    mapping = read_yaml(arguments.mapping) if arguments.mapping else {}
    said = mapping.get("observation") or {}
    if not isinstance(said, Mapping):
        raise ConfigError(f"{arguments.mapping}: observation: expected keys, got {said!r}")
    said = dict(said)
    for text in arguments.map:
        key, separator, source = text.partition("=")
        if not separator:
            raise ConfigError(f"--map '{text}' is not KEY=SOURCE")
        if key == "action":
            mapping["action"] = source
        else:
            said[key] = source
    try:
        transitions = load_transitions(path)
        if not said:
            raise ConfigError(
                f"{path} has {mappable(transitions)}; say with --map KEY=SOURCE which is which key"
            )
        keys = parse_map({**mapping, "observation": said})
        how = keys, arguments.period, arguments.clip
        session = session_of(path.read_bytes(), *how)
        _require_one_reading(arguments.out, session)
        reading = Reading(keys, session, arguments.period, arguments.clip)
        episodes = reading.episodes(transitions)
    except (BadPickle, BadMapping) as error:
        raise ConfigError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return Recording(str(path), [RecordedEpisode(str(path), episode) for episode in episodes])


def _require_one_reading(out: Path, session: bytes) -> None:
    """Raises ConfigError if the same file lies there by another mapping: both would be learned."""
    from serl_learner.ros_log import METADATA

    for path in sorted(out.glob(f"*-{session.hex()[:8]}-*.mcap")):
        there = (read_metadata(path, METADATA) or {}).get("session", session.hex())
        if there[:16] == session.hex()[:16] and there != session.hex():
            raise ConfigError(
                f"{path} is of the same file by another mapping, --period or --clip; remove it and "
                "its like, or give another directory with -o"
            )
