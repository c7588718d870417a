"""Of the nodes of a run: whether they do a job, and where they are heard. No ROS."""

from __future__ import annotations

from collections.abc import Iterable

from serl_franka_bringup.graph import JOB_NODE, Node


def has_job(nodes: Iterable[Node]) -> bool:
    """Whether a run of these nodes ends with the job; drivers alone serve until stopped."""
    return any(node.name in (JOB_NODE, "learner") for node in nodes)


def namespace_of(nodes: Iterable[Node]) -> str:
    """The robot's; groups of drivers lie below it."""
    return min((node.namespace for node in nodes), key=len, default="")
