"""The directory where a plan's demonstrations are kept, those that failed below it."""

from __future__ import annotations

from pathlib import Path

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.projection import FAILURES
from serl_franka_bringup.run_directory import set_aside
from serl_learner.data.bag_index import write_index


def set_demonstrations_aside(plan: Plan) -> str:
    """Moves what was recorded before, if there is any, to begin anew; what there is to say.

    Raises:
      ConfigError: the directory cannot be moved, or holds more than demonstrations.
    """
    directory = Path(plan.arguments.demonstrations_dir).absolute()
    if not directory.is_dir() or not any(directory.iterdir()):
        return ""
    for used in (plan.directory.absolute(), Path.cwd()):
        if used.is_relative_to(directory):
            raise ConfigError(f"--fresh would move {directory} aside, and {used} is in it")
    try:
        return f"demonstrations of before are kept in {set_aside(directory)}"
    except OSError as error:
        raise ConfigError(f"--fresh: {directory} cannot be moved aside: {error}") from error


def index_demonstrations(plan: Plan) -> None:
    """Makes bags of the directories, with all that lies there now."""
    directory = Path(plan.arguments.demonstrations_dir)
    for path in (directory, directory / FAILURES):
        if path.is_dir():
            write_index(path)
