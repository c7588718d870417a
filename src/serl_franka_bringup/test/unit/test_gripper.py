"""The gripper hears what is new, once, and only when it is free."""

from __future__ import annotations

import math

import pytest

from serl_franka_bringup.gripper import GripperConfig, GripperOrder, GripperOrders

OPEN, CLOSE = GripperOrder(1.0), GripperOrder(0.0, grasp=True)


def orders(way: str, *openings: float) -> list[GripperOrder]:
    """What a gripper that is quick hears of these commands."""
    gripper = GripperOrders(GripperConfig(kind="franka", way=way))
    heard = []
    for opening in openings:
        gripper.want(opening)
        if (order := gripper.next_order()) is not None:
            heard.append(order)
            gripper.finish()
    return heard


def test_binary_opens_and_closes_only_on_change():
    assert orders("binary", 1.0, 0.9, 0.2, 0.0, 0.7) == [OPEN, CLOSE, OPEN]


def test_binary_does_not_chatter_about_the_threshold():
    assert orders("binary", 1.0, 0.49, 0.52, 0.46, 0.44) == [OPEN, CLOSE]


def test_continuous_follows_what_changes_by_more_than_the_deadband():
    heard = orders("continuous", 0.5, 0.51, 0.55, 0.4)
    assert heard == [GripperOrder(0.5), GripperOrder(0.55), GripperOrder(0.4, grasp=True)]


def test_openings_are_clipped():
    assert orders("continuous", 7.0, -1.0) == [OPEN, CLOSE]


def test_a_busy_gripper_hears_the_latest_when_it_is_free():
    gripper = GripperOrders(GripperConfig())
    gripper.want(1.0)
    assert gripper.next_order() == OPEN
    gripper.want(0.0)
    gripper.want(1.0)
    gripper.want(0.0)
    assert gripper.next_order() is None
    gripper.finish()
    assert gripper.next_order() == CLOSE
    gripper.finish()
    assert gripper.next_order() is None


def test_what_is_not_finite_is_refused_and_counted():
    gripper = GripperOrders(GripperConfig())
    gripper.want(math.nan)
    assert gripper.next_order() is None
    assert gripper.refused == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "hand"}, "kind 'hand' is not none or franka or robotiq"),
        ({"way": "half"}, "way 'half'"),
        ({"threshold": 1.0}, "threshold is 1.0"),
        ({"speed": 0.0}, "speed is 0.0"),
    ],
)
def test_wrong_figures_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        GripperConfig(**values)
