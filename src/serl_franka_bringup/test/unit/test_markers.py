"""Markers stand where the task's figures say, and tell who drives."""

from __future__ import annotations

import numpy as np
import pytest

from serl_franka_bringup.markers import MarkersConfig, driver_text, reward_text, workspace

CONFIG = MarkersConfig(
    target_position=(0.5, 0.1, 0.05),
    target_rpy=(3.14, 0.0, 0.0),
    box_lower=(-0.05, -0.04, -0.01, -0.1, -0.1, -0.3),
    box_upper=(0.05, 0.06, 0.05, 0.1, 0.1, 0.3),
)


def test_the_box_is_the_workspace_about_the_target():
    box = workspace(CONFIG)
    np.testing.assert_allclose(box.size, (0.1, 0.1, 0.06))
    np.testing.assert_allclose(box.middle, (0.5, 0.11, 0.07))


@pytest.mark.parametrize(
    ("driver", "intervened", "mode", "text"),
    [
        ("policy", False, "IMPEDANCE", "policy drives"),
        ("policy", False, "HOLD", "policy drives (hold)"),
        ("policy", True, "IMPEDANCE", "operator drives"),
        ("", False, "IMPEDANCE", "nobody drives"),
        ("policy", True, "REFLEX", "REFLEX"),
    ],
)
def test_who_drives(driver, intervened, mode, text):
    assert driver_text(CONFIG, driver, intervened, mode).text == text


def test_an_operator_has_another_colour_than_the_policy():
    mine = driver_text(CONFIG, "policy", False, "IMPEDANCE").colour
    assert driver_text(CONFIG, "policy", True, "IMPEDANCE").colour != mine


def test_the_reward_and_its_estimate():
    assert reward_text(CONFIG, 1.0, None).text == "reward 1"
    assert reward_text(CONFIG, 0.0, 0.25).text == "reward 0  p(success) 0.25"
