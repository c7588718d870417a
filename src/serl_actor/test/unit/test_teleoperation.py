"""Deadband, frames, and when an operator drives."""

from __future__ import annotations

import numpy as np
import pytest

from serl_actor.devices.device import DeviceReading
from serl_actor.devices.teleoperation import (
    BindingsConfig,
    TeleoperationConfig,
    Teleoperator,
    axis_map,
)

ENGAGE = BindingsConfig(engage=("ctrl",))


def reading(*axes: float, buttons=(), stamp=0.0) -> DeviceReading:
    return DeviceReading(np.array((*axes, *np.zeros(6 - len(axes)))), frozenset(buttons), stamp)


def test_the_deadband_is_cut_out_and_the_rest_reaches_from_0_to_1():
    operator = Teleoperator(TeleoperationConfig(deadband=0.2))
    said = operator.update(reading(0.2, 0.6, -1.0, -0.19), 0.0)
    np.testing.assert_allclose(said.twist, (0.0, 0.5, -1.0, 0.0, 0.0, 0.0))
    assert said.active
    assert not Teleoperator(TeleoperationConfig(deadband=0.2)).update(reading(0.2), 0.0).active


def test_axes_of_an_operator_who_faces_the_arm():
    """Away from them is towards the base: -x; their left is the arm's right: -y; up stays."""
    config = TeleoperationConfig(axes=("-x", "-y", "z"), deadband=0.0)
    said = Teleoperator(config).update(reading(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 0.0)
    np.testing.assert_allclose(said.twist, (-0.1, -0.2, 0.3, -0.4, -0.5, 0.6))


def test_axes_of_an_operator_at_the_arms_left_who_looks_to_its_right():
    """They look along -y: away is -y, their left is +x."""
    config = TeleoperationConfig(axes=("y", "-x", "z"), deadband=0.0)
    said = Teleoperator(config).update(reading(1.0, 0.25, 0.0), 0.0)
    np.testing.assert_allclose(said.twist, (0.25, -1.0, 0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("axes", "wrong"),
    [
        (("x", "x", "z"), "once each"),
        (("-x", "y", "z"), "mirror"),
        (("x", "y", "w"), "'w' is not x, y or z"),
        (("x", "y", ""), "'' is not"),
    ],
)
def test_axes_that_are_no_rotation_are_refused(axes, wrong):
    with pytest.raises(ValueError, match=wrong):
        axis_map(axes)


def test_gains_scale_and_leave_out():
    config = TeleoperationConfig(deadband=0.0, translation_gain=0.5, rotation_gain=0.0)
    said = Teleoperator(config).update(reading(1.0, 0.0, 0.0, 1.0), 0.0)
    np.testing.assert_allclose(said.twist, (0.5, 0, 0, 0, 0, 0))


def test_touching_drives_and_rest_lets_go_after_a_moment():
    operator = Teleoperator(TeleoperationConfig(linger=0.3))
    assert operator.update(reading(1.0), 0.0).active
    assert operator.update(reading(stamp=0.3), 0.3).active
    assert not operator.update(reading(stamp=0.31), 0.31).active


def test_d25_a_stale_reading_closes_at_once_whatever_the_mode():
    for mode in ("touch", "hold", "toggle"):
        operator = Teleoperator(TeleoperationConfig(mode=mode, bindings=ENGAGE, linger=5.0))
        pushed = reading(1.0, buttons=("ctrl",))
        assert operator.update(pushed, 0.15).active
        stale = operator.update(pushed, 0.16)
        assert not stale.active
        assert not stale.twist.any()
        assert stale.buttons == ()
        assert not operator.update(reading(stamp=1.0), 1.0).active


def test_readings_that_are_not_finite_count_as_none():
    assert not Teleoperator(TeleoperationConfig()).update(reading(np.nan), 0.0).active


def test_hold_drives_while_the_button_is_held_also_at_rest():
    operator = Teleoperator(TeleoperationConfig(mode="hold", bindings=ENGAGE))
    touched = operator.update(reading(1.0), 0.0)
    assert not touched.active
    assert not touched.twist.any()
    assert operator.update(reading(buttons=("ctrl",)), 0.0).active
    assert not operator.update(reading(), 0.0).active


def test_toggle_drives_from_one_press_to_the_next():
    operator = Teleoperator(TeleoperationConfig(mode="toggle", bindings=ENGAGE))
    presses = [(), ("ctrl",), ("ctrl",), (), ("ctrl",), ()]
    said = [operator.update(reading(buttons=buttons), 0.0).active for buttons in presses]
    assert said == [False, True, True, True, False, False]


def test_a_gripper_button_takes_over():
    bindings = BindingsConfig(close=("left",), open=("right",))
    operator = Teleoperator(TeleoperationConfig(bindings=bindings))
    said = operator.update(reading(buttons=("right",)), 0.0)
    assert (said.active, said.gripper) == (True, 1.0)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"mode": "push"}, "mode 'push'"),
        ({"mode": "toggle"}, "no button is bound to engage"),
        ({"deadband": 1.0}, "deadband is 1.0"),
        ({"rotation_gain": 1.5}, "rotation_gain is 1.5"),
        ({"stale_after": 0.5}, "stale_after is 0.5 s"),
        ({"linger": -1.0}, "linger is -1.0 s"),
    ],
)
def test_wrong_figures_are_refused_by_name(values, wrong):
    with pytest.raises(ValueError, match=wrong):
        TeleoperationConfig(**values)
