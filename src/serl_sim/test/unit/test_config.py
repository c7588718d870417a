"""Scenes that make no sense are refused with the value in the message."""

from __future__ import annotations

import math

import pytest

from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig, SceneError
from serl_sim.expert import ExpertConfig


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("clearance", 0.0, "clearance is 0.0"),
        ("clearance", math.nan, "clearance is nan"),
        ("friction", -0.1, "friction is -0.1"),
        ("chamfer", 0.009, "chamfer is 0.009"),
        ("slot_depth", 0.011, "slot_depth is 0.011"),
        ("home", (0.0,) * 6, "home has 6 values"),
        ("plug_size", (0.016, 0.0, 0.01), "plug_size is"),
        ("target_position", (0.5, math.inf, 0.0), "target_position is"),
    ],
)
def test_scene_refuses(field, value, shown):
    with pytest.raises(SceneError, match=shown):
        SceneConfig(**{field: value})


def test_expert_refuses_a_range_that_is_upside_down():
    with pytest.raises(ValueError, match="speed is"):
        ExpertConfig(speed=(0.7, 0.3))


def test_start_is_above_the_target():
    config = SceneConfig(start_height=0.04)
    start, target = config.nominal_start, config.target
    assert start.distance(target) == pytest.approx((0.04, 0.0), abs=1e-12)
    assert start.position[2] == pytest.approx(target.position[2] + 0.04)


def test_compliance_bounds_the_push():
    """3000 N/m times the clipped error along -z: 6 N."""
    law = Compliance().law_parameters(SceneConfig().target)
    assert law.stiffness[2] * law.clip_positive[2] == pytest.approx(6.0)
    assert law.box.position == pytest.approx(SceneConfig().target_position)
