"""What settings of an actor must say together, for whoever starts one. Raises ValueError."""

from __future__ import annotations

from collections.abc import Sequence


def check_grasp(gripper: str, grasp: bool) -> None:
    """A grasp critic, `agent.grasp.enabled`, goes with a learned `task.gripper` alone."""
    if grasp != (gripper == "learned"):
        raise ValueError(
            f"agent.grasp.enabled is {grasp} and task.gripper is '{gripper}': a grasp critic goes "
            "with 'learned' alone"
        )


def check_seen(solved_by: str, simulated: bool, cameras: Sequence[str], job: str, who: str) -> None:
    """Of an object that a real arm moves only pictures tell where it is.

    `solved_by` is the task's, `job` its kind; `who` says what a success is, `reward.source`.
    """
    if simulated or solved_by != "object":
        return
    lacks = ""
    if not cameras:
        lacks = "there are no cameras"
    elif job != "label" and who == "sparse":
        lacks = "reward.source is 'sparse', the pose"
    if lacks:
        raise ValueError(
            f"task.solved_by is 'object', simulated is false and {lacks}: nobody knows where the "
            "object is; expected cameras and reward.source 'classifier'"
        )
