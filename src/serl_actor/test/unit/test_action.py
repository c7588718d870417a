"""Actions: about the measured pose, in the tcp frame, and what is stored is what is commanded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serl_actor.action import ActionScale, executable
from serl_actor.intervention import BASE_FRAME, TCP_FRAME, Intervention, UnknownFrame
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.geometry import Pose

TASK = TaskConfig()
SCALE = ActionScale(0.01, 0.06)
BOX = Workspace(TASK.target, np.array(TASK.box_lower), np.array(TASK.box_upper))

unit = st.floats(-1.0, 1.0)
wild = st.floats(-3.0, 3.0)
actions = st.tuples(*[unit] * 6).map(np.array)
wild_actions = st.tuples(*[wild] * 6).map(np.array)
angle = st.floats(-math.pi, math.pi)
poses = st.builds(
    lambda xyz, rpy: Pose.from_rpy(xyz, rpy), st.tuples(*[unit] * 3), st.tuples(*[angle] * 3)
)
shares = st.tuples(*[st.floats(0.0, 1.0)] * 6).map(np.array)


def inside(share: np.ndarray) -> Pose:
    offset = BOX.lower + share * (BOX.upper - BOX.lower)
    turned = TASK.target @ Pose.from_rotation_vector(np.zeros(3), offset[3:])
    return Pose(TASK.target.position + offset[:3], turned.quaternion)


def test_one_centimetre_along_the_tools_own_axis():
    """The tool points down (roll pi): its +z is the base's -z."""
    measured = Pose.from_rpy((0.5, 0.0, 0.2), (math.pi, 0.0, 0.0))
    target = SCALE.target(measured, np.array((0.0, 0.0, 1.0, 0.0, 0.0, 0.0)))
    np.testing.assert_allclose(target.position, (0.5, 0.0, 0.19), atol=1e-12)
    np.testing.assert_allclose(measured.distance(target), (0.01, 0.0), atol=1e-7)


@settings(deadline=None)
@given(poses, actions)
def test_action_and_target_are_inverses(measured, action):
    np.testing.assert_allclose(
        SCALE.action(measured, SCALE.target(measured, action)), action, atol=1e-6
    )


@settings(deadline=None)
@given(poses, actions)
def test_d01_translation_never_turns_the_tool(measured, action):
    action = np.concatenate((action[:3], np.zeros(3)))
    assert measured.distance(SCALE.target(measured, action))[1] < 1e-7


@settings(deadline=None)
@given(shares, wild_actions)
def test_d26_case_12_the_stored_action_leads_to_the_commanded_target(share, action):
    """From inside the box: the target is in the box, and the stored action is in [-1, 1]."""
    measured = inside(share)
    target, executed = executable(action, measured, SCALE, BOX)
    assert np.abs(executed).max() <= 1.0
    np.testing.assert_allclose(
        SCALE.target(measured, executed).to_vector(), target.to_vector(), atol=1e-9
    )


def test_d26_case_12_at_the_limit_of_the_box():
    """5 mm under the lid, 10 mm asked for: 5 mm are commanded, and 0.5 is stored."""
    over = Pose(TASK.target.position + np.array((0.0, 0.0, 0.045)), TASK.target.quaternion)
    up = np.concatenate((over.inverse().rotate((0.0, 0.0, 1.0)), np.zeros(3)))
    target, executed = executable(up, over, SCALE, BOX)
    assert target.position[2] == pytest.approx(TASK.target.position[2] + 0.05)
    np.testing.assert_allclose(executed, 0.5 * up, atol=1e-6)


def test_from_far_outside_the_arm_comes_back_in_steps_of_one():
    far = Pose(TASK.target.position + np.array((0.2, 0.0, 0.02)), TASK.target.quaternion)
    target, executed = executable(np.zeros(6), far, SCALE, BOX)
    assert np.abs(executed).max() == 1.0
    assert far.distance(target)[0] <= 0.01 * math.sqrt(3) + 1e-12
    assert target.position[0] < far.position[0]
    np.testing.assert_allclose(SCALE.action(far, target), executed, atol=1e-9)


@settings(deadline=None)
@given(poses, wild_actions)
def test_d01_an_interventions_translation_and_rotation_turn_apart(tcp, twist):
    """blockdiag(R, R): norms are kept apart, and where the arm is does not matter."""
    small = twist / 6.0
    action = Intervention(0, True, small, BASE_FRAME).action(tcp)
    assert np.linalg.norm(action[:3]) == pytest.approx(np.linalg.norm(small[:3]), abs=1e-9)
    assert np.linalg.norm(action[3:]) == pytest.approx(np.linalg.norm(small[3:]), abs=1e-9)
    moved = Pose(tcp.position + 1.0, tcp.quaternion)
    np.testing.assert_allclose(Intervention(0, True, small, BASE_FRAME).action(moved), action)


def test_d01_a_push_along_the_bases_x_moves_along_the_bases_x():
    tcp = Pose.from_rpy((0.5, 0.1, 0.2), (math.pi, 0.0, 0.7))
    push = Intervention(0, True, np.array((1.0, 0.0, 0.0, 0.0, 0.0, 0.0)), BASE_FRAME)
    target = SCALE.target(tcp, push.action(tcp))
    np.testing.assert_allclose(target.position - tcp.position, (0.01, 0.0, 0.0), atol=1e-12)


@settings(deadline=None)
@given(poses, wild_actions)
def test_case_12_an_intervention_beyond_one_is_clipped(tcp, twist):
    for frame in (TCP_FRAME, BASE_FRAME):
        assert np.abs(Intervention(0, True, twist, frame).action(tcp)).max() <= 1.0


def test_an_unknown_frame_is_named():
    with pytest.raises(UnknownFrame, match=r"'camera', expected 'tcp' or 'base'"):
        Intervention(0, True, np.zeros(6), "camera").action(Pose.identity())
