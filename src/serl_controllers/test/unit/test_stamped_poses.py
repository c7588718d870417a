"""Poses are found by their stamp, for as long as it matters."""

from __future__ import annotations

import pytest

from serl_controllers.geometry import Pose
from serl_controllers.stamped_poses import KEPT, StampedPoses

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("stamps", "known"),
    [
        ((1, 2, 3), (1, 2, 3)),
        ((1, 1), (1,)),  # said again
        ((1, 2, 3, 2), (2,)),  # the simulator was started anew
        (tuple(range(KEPT + 2)), tuple(range(2, KEPT + 2))),  # the oldest are forgotten
    ],
)
def test_the_newest_are_known(stamps, known):
    poses = StampedPoses()
    for stamp in stamps:
        poses.add(stamp, Pose((0.1 * stamp, 0.0, 0.0), UPRIGHT))
    found = {stamp: poses.get(stamp) for stamp in range(KEPT + 3)}
    assert tuple(stamp for stamp, pose in found.items() if pose is not None) == known
    assert all(found[stamp].position[0] == pytest.approx(0.1 * stamp) for stamp in known)


def test_with_slack_the_first_that_is_not_older_is_taken():
    poses = StampedPoses()
    for stamp in (10, 20, 30):
        poses.add(stamp, Pose((0.1 * stamp, 0.0, 0.0), UPRIGHT))
    found = poses.get(12, slack_ns=20)
    assert found is not None
    assert found.position[0] == pytest.approx(2.0)
    assert poses.get(12, slack_ns=7) is None
    assert poses.get(31, slack_ns=100) is None
