"""Poses by the stamp of the state they belong to, which comes on a topic of its own."""

from __future__ import annotations

from serl_controllers.geometry import Pose

KEPT = 8
"""Poses that may come before the states they belong to."""


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

    def get(self, stamp_ns: int) -> Pose | None:
        """That of a state; None: not known."""
        return self._poses.get(stamp_ns)
