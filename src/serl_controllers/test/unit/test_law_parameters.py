"""The Python dataclasses of the law's parameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from serl_controllers import LawParameters, WorkspaceBox
from serl_controllers.geometry import Pose

LIMITS = np.array((0.05, 0.05, 0.05, 0.2, 0.05, 0.35))


def test_defaults_are_the_published_ones():
    p = LawParameters()
    assert p.stiffness == (2000, 2000, 2000, 75, 75, 75)
    assert p.damping == (89, 89, 89, 7, 7, 7)
    assert (p.nullspace_stiffness, p.joint1_nullspace_stiffness) == (0.2, 100.0)
    assert (p.target_time_constant, p.torque_rate_limit, p.box) == (0.2, 1.0, None)


def test_arrays_become_tuples_so_that_parameters_compare():
    p = LawParameters(stiffness=np.full(6, 100.0))
    assert p.stiffness == (100.0,) * 6
    assert p == dataclasses.replace(p, stiffness=[100] * 6)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"stiffness": (1, 2, 3)}, r"stiffness is \(1.0, 2.0, 3.0\), expected 6 numbers"),
        ({"torque_rate_limit": "fast"}, "torque_rate_limit is 'fast', expected a number"),
        ({"damping": (0, 0, -1, 0, 0, 0)}, r"damping\[2\] is -1, expected 0 to 400"),
        ({"clip_positive": (0.5, 0, 0, 0, 0, 0)}, r"clip_positive\[0\] is 0.5, expected 0 to 0.1"),
        ({"command_timeout": float("nan")}, "command_timeout is nan"),
    ],
)
def test_d24_bad_values_are_refused_by_name_not_clamped(fields, text):
    with pytest.raises(ValueError, match=text):
        LawParameters(**fields)


def test_box_clips_as_the_law_does():
    reference = Pose.from_rpy((0.5, 0, 0.1), (-3.10, 0, 0))
    box = WorkspaceBox.about(reference, -LIMITS, LIMITS)

    inside = Pose.from_rpy((0.52, 0, 0.1), (3.13, 0, 0))
    assert box.clip(inside) == (inside, False)
    clipped, moved = box.clip(Pose.from_rpy((0.6, 0, 0.1), (2.8, 0, 0)))
    assert moved
    assert reference.distance(clipped) == pytest.approx((0.05, 0.2), abs=1e-9)


def test_an_empty_box_is_refused():
    with pytest.raises(ValueError, match=r"box.upper\[3\] is -0.2, expected 0.2 to"):
        WorkspaceBox.about(Pose.identity(), LIMITS, -LIMITS * (-1, -1, -1, 1, -1, -1))
