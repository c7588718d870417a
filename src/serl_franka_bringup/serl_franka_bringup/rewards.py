"""Where a task's reward classifier and its labelled frames are, and which model a run goes by.

`runs/<task>/rewards/` is shared by all runs of the task: `episodes/` holds the labelled frames,
`classifier.model` what was trained on them.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serl_franka_bringup.config import ConfigError
from serl_learner.rewards.model_header import VICE_MODEL, ModelError, read_header

if TYPE_CHECKING:
    from serl_franka_bringup.arguments import Arguments
    from serl_franka_bringup.task import TaskFile

EPISODES = "episodes"
MODEL = "classifier.model"


def rewards_path(root: Path, task: str) -> Path:
    """The directory of labelled frames and of the classifier of a task."""
    return root / task / "rewards"


def classifier_parameters(arguments: Arguments) -> dict[str, Any]:
    """Parameters of the node reward_classifier; none if no classifier says what a success is.

    Without the file, as on the learner's machine, it is not known which model it is. With vice it
    comes from the learner, and for an evaluation from beside the policy.
    """
    if not arguments.judged:
        return {}
    if arguments.by_vice:
        return {"online": True}
    if arguments.reward == "vice":
        return {"model": str(Path(arguments.run_dir) / "checkpoints" / VICE_MODEL)}
    path = Path(arguments.reward_model)
    known = {"model_id": _header(path)["model_id"]} if path.is_file() else {}
    return {"model": str(path), **known}


def complete(file: TaskFile, arguments: Arguments, root: Path) -> Arguments:
    """The arguments with what is not given and follows from the others: the task's own model, and
    that frames are labelled from images.

    Args:
      file: the task, as its file says.
      root: where runs are kept.

    Raises:
      ConfigError: a reward classifier is to judge, or frames to be recorded for one, but nothing
        is seen, or there is no usable model, or for vice no goal; says which commands make them.
    """
    if arguments.job == "label" and arguments.observation is None:  # nothing else can be labelled
        arguments = dataclasses.replace(arguments, observation="image")
    home = rewards_path(root, file.name).absolute()
    arguments = dataclasses.replace(
        arguments,
        reward_model=arguments.reward_model or str(home / MODEL),
        goals_dir=str(Path(arguments.goals_dir or home / EPISODES).expanduser()),
    )
    _check_model(file.observing(arguments.observation), arguments)
    return arguments


def _check_model(file: TaskFile, arguments: Arguments) -> None:
    labels = arguments.job == "label"
    if not (arguments.judged or labels):
        return
    if file.task.observation != "image":
        raise ConfigError(
            f"a reward classifier judges pictures, but the observation is "
            f"'{file.task.observation}'; observation:=image?"
        )
    if arguments.by_vice and arguments.roles in ("all", "learner"):
        _check_goals(file, Path(arguments.goals_dir))
    if labels or arguments.roles in ("learner", "arm") or arguments.reward == "vice":
        return
    path = Path(arguments.reward_model)
    if not path.is_file():
        raise ConfigError(
            f"there is no reward classifier at {path}: record frames with ./serl record "
            f"{file.name} --rewards, then train it with ./serl train-reward {file.name}"
        )
    missing = sorted(set(_header(path)["sizes"]) - set(file.task.cameras))
    if arguments.robot == "sim" and missing:
        raise ConfigError(
            f"reward_model: {path} looks through {', '.join(missing)}, but the cameras of the "
            f"task {file.name} are {', '.join(file.task.cameras)}"
        )


def _check_goals(file: TaskFile, directory: Path) -> None:
    if not any(directory.glob("*.mcap")):
        raise ConfigError(
            f"goals_dir: {directory} holds no labelled frames, of which vice takes its goals: "
            f"record some with ./serl record {file.name} --rewards"
        )


def _header(path: Path) -> dict[str, Any]:
    try:
        return read_header(path)
    except ModelError as error:
        raise ConfigError(f"reward_model: {error}") from error
