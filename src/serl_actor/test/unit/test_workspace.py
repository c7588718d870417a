"""The box in SO(3): laws, and the seam at roll +-pi."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.geometry import Pose

LOWER = np.array((-0.05, -0.05, -0.005, -0.05, -0.05, -0.35))
UPPER = np.array((0.05, 0.05, 0.05, 0.05, 0.05, 0.35))

number = st.floats(-0.5, 0.5)
six = st.tuples(*[number] * 6)
angle = st.floats(-math.pi, math.pi)
references = st.builds(
    lambda xyz, rpy: Pose.from_rpy(xyz, rpy), st.tuples(*[number] * 3), st.tuples(*[angle] * 3)
)


def offset(workspace: Workspace, pose: Pose) -> np.ndarray:
    turn = (workspace.reference.inverse() @ pose).rotation_vector
    return np.concatenate((pose.position - workspace.reference.position, turn))


def displaced(reference: Pose, six: np.ndarray) -> Pose:
    turned = reference @ Pose.from_rotation_vector(np.zeros(3), six[3:])
    return Pose(reference.position + six[:3], turned.quaternion)


@settings(deadline=None)
@given(references, six)
def test_clipped_offset_is_the_offset_clipped(reference, values):
    workspace = Workspace(reference, LOWER, UPPER)
    clipped = workspace.clip(displaced(reference, np.array(values)))
    np.testing.assert_allclose(offset(workspace, clipped), np.clip(values, LOWER, UPPER), atol=1e-9)


@settings(deadline=None)
@given(references, six)
def test_clipping_twice_changes_nothing(reference, values):
    workspace = Workspace(reference, LOWER, UPPER)
    once = workspace.clip(displaced(reference, np.array(values)))
    twice = workspace.clip(once)
    assert max(once.distance(twice)) < 1e-9


@settings(deadline=None)
@given(references, st.floats(0.0, 1.0))
def test_a_pose_inside_is_left_alone(reference, share):
    workspace = Workspace(reference, LOWER, UPPER)
    pose = displaced(reference, LOWER + share * (UPPER - LOWER) * 0.999)
    inside = np.clip(offset(workspace, pose), LOWER * 0.999, UPPER * 0.999)
    pose = displaced(reference, inside)
    assert workspace.clip(pose) is pose


def test_case_03_start_at_the_other_sign_of_roll_does_not_flip():
    """Target roll -3.10 +- 0.2 rad, start at +3.13: 0.05 rad away, not 6.23."""
    target = Pose.from_rpy((0.5, 0.0, 0.1), (-3.10, 0.0, 0.0))
    workspace = Workspace(target, np.full(6, -0.2), np.full(6, 0.2))
    start = Pose.from_rpy((0.5, 0.0, 0.1), (3.13, 0.0, 0.0))
    assert workspace.clip(start) is start

    beyond = Pose.from_rpy((0.5, 0.0, 0.1), (2.8, 0.0, 0.0))  # 0.383 rad away
    _, angle = target.distance(workspace.clip(beyond))
    assert angle == np.float64(0.2).item() or abs(angle - 0.2) < 1e-9
    assert beyond.distance(workspace.clip(beyond))[1] < 0.2


def test_d15_yaw_near_pi_is_clipped_on_its_own_side():
    target = Pose.from_rpy((0.5, 0.0, 0.1), (math.pi, 0.0, math.pi - 0.02))
    workspace = Workspace(target, LOWER, UPPER)
    over = Pose.from_rpy((0.5, 0.0, 0.1), (math.pi, 0.0, -math.pi + 0.3))  # 0.32 rad further
    assert max(over.distance(workspace.clip(over))) < 1e-9


def test_d15_success_compares_rotations_not_euler_angles():
    """The tool at roll -3.1552 is 1e-9 from the target at roll 3.1280 + 2 pi's other name."""
    task = TaskConfig(target_rpy=(3.1280, 0.0, 0.0))
    same = Pose.from_rpy(task.target_position, (3.1280 - 2 * math.pi + 0.05, 0.0, 0.0))
    assert task.is_solved(same)
    mirrored = Pose.from_rpy(task.target_position, (-3.1280 + 0.12, 0.0, 0.0))  # |roll| agrees
    assert not task.is_solved(mirrored)
