"""Poses by the stamp of the state they belong to, which comes on a topic of its own."""

from __future__ import annotations

from serl_controllers.geometry import Pose

KEPT = 64
"""The newest poses; one of them belongs to any state of now."""


class StampedPoses:
    """The newest poses of one thing."""

    def __init__(self) -> None:
        self._poses: dict[int, Pose] = {}

    def add(self, stamp_ns: int, pose: Pose) -> None:
        """A stamp that goes back is of a simulator started anew: what was before is forgotten."""
        if any(stamp_ns < known for known in self._poses):
            self._poses.clear()
        self._poses[stamp_ns] = pose
        while len(self._poses) > KEPT:
            del self._poses[next(iter(self._poses))]

    def get(self, stamp_ns: int, slack_ns: int = 0) -> Pose | None:
        """That of a state, or the first that is newer by at most `slack_ns`; None: not known."""
        found = (pose for at, pose in self._poses.items() if 0 <= at - stamp_ns <= slack_ns)
        return next(found, None)
