"""A configuration outside the limits is refused, naming joint, value and limit."""

from __future__ import annotations

import math

import pytest

from serl_controllers.joint_limits import JointLimitError, JointLimits

NAMES = ("shoulder", "elbow")
URDF = """<robot name="two">
  <joint name="mount" type="fixed"/>
  <joint name="shoulder" type="revolute"><limit lower="-1.5" upper="2" velocity="2.6"/></joint>
  <joint name="elbow" type="revolute"><limit lower="0.5" upper="3" velocity="1.5"/></joint>
</robot>"""
LIMITS = JointLimits(NAMES, (-1.5, 0.5), (2.0, 3.0), (2.6, 1.5))


def test_the_limits_are_those_of_the_description():
    assert JointLimits.from_urdf(URDF, NAMES) == LIMITS


@pytest.mark.parametrize(
    ("description", "names", "message"),
    [
        ("not a robot", NAMES, "is not XML"),
        (URDF, ("shoulder", "wrist"), "no limits of joint 'wrist'"),
        (URDF, ("mount",), "no limits of joint 'mount'"),
        (URDF.replace('velocity="1.5"', ""), NAMES, "limit of joint 'elbow' is"),
    ],
)
def test_a_description_that_says_too_little_is_refused(description, names, message):
    with pytest.raises(JointLimitError, match=message):
        JointLimits.from_urdf(description, names)


@pytest.mark.parametrize("q", [(-1.5, 0.5), (2.0, 3.0), (0.0, 1.0)])
def test_the_limits_themselves_are_allowed(q):
    LIMITS.check(q, 1.5)


@pytest.mark.parametrize(
    ("q", "max_velocity", "message"),
    [
        ((0.0, 0.4), 1.0, r"elbow is 0\.4 rad, allowed are 0\.5 \.\. 3"),
        ((2.1, 1.0), 1.0, r"shoulder is 2\.1 rad, allowed are -1\.5 \.\. 2"),
        ((math.nan, 1.0), 1.0, "shoulder is nan rad"),
        ((0.0,), 1.0, "q has 1 values, the arm 2 joints"),
        ((0.0, 1.0), 1.6, r"max_velocity is 1\.6 rad/s.* at most 1\.5 \(elbow\)"),
        ((0.0, 1.0), 0.0, "max_velocity is 0 rad/s"),
        ((0.0, 1.0), math.inf, "max_velocity is inf"),
    ],
)
def test_what_is_outside_is_refused_with_joint_value_and_limit(q, max_velocity, message):
    with pytest.raises(JointLimitError, match=message):
        LIMITS.check(q, max_velocity)
