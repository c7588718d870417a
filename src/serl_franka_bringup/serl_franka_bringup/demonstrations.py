"""Demonstrations that a run is given: bags, checked as a whole and taken into its directory."""

from __future__ import annotations

from pathlib import Path

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.data.layout import layout_of
from serl_franka_bringup.plan import Plan


def take_demonstrations(plan: Plan) -> str:
    """Takes those that the argument `demonstrations` names, once each; what there is to say.

    Only the machine that learns does it, before anything starts.

    Raises:
      ConfigError: there is no bag, one is unusable or of other keys, sizes or rewards than the
        task, or none of its episodes is a demonstration; names what is wrong. Nothing is taken
        then.
    """
    given = plan.arguments.demonstrations
    if not given or plan.arguments.job != "train" or not any(_learns(node) for node in plan.nodes):
        return ""
    from serl_learner.data.bag_file import BagError
    from serl_learner.data.selection import select
    from serl_learner.episodes import EpisodeError
    from serl_learner.ros_bag import read_recordings
    from serl_learner.ros_keeping import keep_episodes

    layout = layout_of(plan)
    try:
        found = select(read_recordings([Path(given).expanduser()]), *layout, demonstrations=True)
    except BagError as error:
        raise ConfigError(f"demonstrations: {error}") from error
    if found.unusable:
        more = f"; and {len(found.unusable) - 1} more" if len(found.unusable) > 1 else ""
        raise ConfigError(
            f"demonstrations: {found.unusable[0]}{more}; ./serl data check shows all of it, "
            "./serl data import --skip-bad takes the rest into a directory"
        )
    if not found.episodes:
        raise ConfigError(f"demonstrations: {given} holds none that succeeded: {found.apart}")
    directory = Path(plan.arguments.demonstrations_dir)
    try:
        added = keep_episodes(directory, found.episodes)
    except (EpisodeError, OSError) as error:
        raise ConfigError(f"demonstrations: {directory}: {error}") from error
    apart = f"; left out: {found.apart}" if found.left_out else ""
    return f"demonstrations {len(found.episodes)} of {given}, {added} of them new{apart}"


def _learns(node: object) -> bool:
    return getattr(node, "name", "") == "learner"
