"""One press of a veto button is against one success."""

from __future__ import annotations

import pytest

from serl_actor.veto_key import VetoKey


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def veto(clock):
    return VetoKey(0.2, lambda: clock[0])


def test_without_a_press_every_success_passes(veto):
    assert (veto.passes(True), veto.passes(False)) == (True, False)
    assert veto.take_back(lambda: "taken") is None
    assert veto.uses == 0


def test_only_the_way_down_is_a_press(veto):
    assert [veto.hear("a", down) for down in (False, True, True, False, True)] == [
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_press_takes_back_once_and_is_then_against_nothing(veto):
    veto.hear("a", True)
    assert veto.take_back(lambda: "taken") == "taken"
    assert veto.take_back(lambda: "again") is None
    assert veto.passes(True)  # still held
    assert veto.uses == 1


def test_a_press_that_could_not_take_back_is_against_what_comes(veto):
    def refuse():
        raise LookupError

    veto.hear("a", True)
    with pytest.raises(LookupError):
        veto.take_back(refuse)
    veto.begin()
    assert veto.uses == 0
    assert not veto.passes(True)
    assert veto.uses == 1


def test_a_tap_in_the_moment_in_which_the_success_is_recorded_takes_it_back(veto):
    assert veto.passes(True)
    veto.hear("a", True)
    veto.hear("a", False)
    assert veto.take_back(lambda: "taken") == "taken"


def test_what_was_tapped_before_an_episode_does_not_reach_into_it(veto):
    veto.hear("a", True)
    veto.hear("a", False)
    veto.begin()
    assert veto.passes(True)


def test_a_new_press_is_against_the_next_success(veto):
    veto.hear("a", True)
    assert not veto.passes(True)
    veto.hear("a", False)
    assert veto.passes(True)
    veto.hear("a", True)
    assert not veto.passes(True)
    assert veto.uses == 2


def test_two_devices_at_once_are_against_one_success(veto):
    veto.hear("a", True)
    veto.hear("b", True)
    assert not veto.passes(True)
    assert veto.take_back(lambda: "taken") is None
    assert veto.uses == 1


def test_a_device_that_fell_silent_holds_nothing(veto, clock):
    veto.hear("a", True)
    clock[0] = 0.3
    assert veto.passes(True)
    veto.hear("a", True)  # it is back, and was never released
    assert not veto.passes(True)


def test_who_lets_go_before_the_success_is_not_against_it(veto):
    veto.hear("a", True)
    veto.passes(False)
    veto.hear("a", False)
    assert veto.passes(True)
    assert veto.uses == 0
