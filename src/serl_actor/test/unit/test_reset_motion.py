"""The way to a start pose, as laws over all ways."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serl_actor.reset_motion import ResetMotionConfig, plan_reset
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.geometry import Pose

TASK = TaskConfig()
BOX = Workspace(TASK.target, np.array(TASK.box_lower), np.array(TASK.box_upper))
CONFIG = ResetMotionConfig()
PERIOD = 0.1

shares = st.tuples(*[st.floats(0.0, 1.0)] * 6).map(np.array)
wide = st.tuples(*[st.floats(-1.0, 2.0)] * 6).map(np.array)


def place(share: np.ndarray) -> Pose:
    """A pose by its share of the box: 0 .. 1 is inside."""
    offset = BOX.lower + share * (BOX.upper - BOX.lower)
    turned = TASK.target @ Pose.from_rotation_vector(np.zeros(3), offset[3:])
    return Pose(TASK.target.position + offset[:3], turned.quaternion)


def is_inside(pose: Pose) -> bool:
    return max(pose.distance(BOX.clip(pose))) < 1e-6


@settings(max_examples=25, deadline=None)
@given(wide, shares)
def test_it_ends_at_the_start(tool, start):
    poses = [place(tool), *plan_reset(place(tool), place(start), BOX, PERIOD, CONFIG)]
    assert max(poses[-1].distance(place(start))) < 1e-6


@settings(max_examples=25, deadline=None)
@given(wide, shares)
def test_it_is_never_faster_than_allowed(tool, start):
    poses = [place(tool), *plan_reset(place(tool), place(start), BOX, PERIOD, CONFIG)]
    for before, after in itertools.pairwise(poses):
        metres, angle = before.distance(after)
        assert metres <= CONFIG.speed * PERIOD + 1e-9
        assert angle <= CONFIG.turn_speed * PERIOD + 1e-6


@settings(max_examples=25, deadline=None)
@given(shares, shares)
def test_d23_from_inside_the_box_it_stays_inside(tool, start):
    """Positions form a box, so straight lines stay in; rotations come within 2 %."""
    for pose in plan_reset(place(tool), place(start), BOX, PERIOD, CONFIG):
        offset = (BOX.reference.inverse() @ pose).rotation_vector
        moved = pose.position - BOX.reference.position
        assert np.all(moved >= BOX.lower[:3] - 1e-9)
        assert np.all(moved <= BOX.upper[:3] + 1e-9)
        assert np.all(np.abs(offset) <= np.abs(BOX.upper[3:]) * 1.02 + 0.01)


@settings(max_examples=25, deadline=None)
@given(wide, shares)
def test_once_inside_it_never_leaves(tool, start):
    poses = list(plan_reset(place(tool), place(start), BOX, PERIOD, CONFIG))
    inside = [np.allclose(BOX.clip(p).position, p.position, atol=1e-9) for p in poses]
    if True in inside:
        assert all(inside[inside.index(True) :])


def test_it_lifts_before_it_goes():
    seated = TASK.target
    start = Pose(seated.position + np.array((0.05, 0.0, 0.04)), seated.quaternion)
    poses = list(plan_reset(seated, start, BOX, PERIOD, CONFIG))
    sideways = [abs(p.position[0] - seated.position[0]) > 1e-9 for p in poses]
    first = sideways.index(True)
    assert poses[first - 1].position[2] == pytest.approx(seated.position[2] + CONFIG.lift)
    assert not any(sideways[:first])


def test_d15_a_start_at_the_other_sign_of_the_quaternion_is_the_same_start():
    tool = TASK.target
    start = Pose(tool.position, -tool.quaternion)
    config = ResetMotionConfig(lift=0.0)
    assert len(list(plan_reset(tool, start, BOX, PERIOD, config))) == 0
    turned = tool @ Pose.from_rotation_vector(np.zeros(3), (0.0, 0.0, 0.3))
    way = list(plan_reset(tool, Pose(turned.position, -turned.quaternion), BOX, PERIOD, config))
    assert len(way) == 10  # 0.3 rad at 0.03 rad per step, not 2 pi - 0.3
    assert all(math.isclose(np.linalg.norm(p.quaternion), 1.0, abs_tol=1e-9) for p in way)
    assert all(is_inside(p) for p in way)


def test_a_start_outside_is_moved_into_the_box():
    far = Pose(TASK.target.position + np.array((0.3, 0.0, 0.02)), TASK.target.quaternion)
    *_, last = plan_reset(TASK.target, far, BOX, PERIOD, CONFIG)
    assert is_inside(last)
    assert not CONFIG.has_arrived(last, far)
    assert CONFIG.has_arrived(last, BOX.clip(far))
