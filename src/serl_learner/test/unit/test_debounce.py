"""One frame over the threshold is no success (cases 10)."""

from __future__ import annotations

import pytest

from serl_learner.rewards.debounce import Debounce


def judged(debounce: Debounce, *frames: tuple[int, bool]) -> list[bool]:
    return [debounce.judge(step, over) for step, over in frames]


def test_case_10_a_frame_that_fires_alone_is_no_success():
    debounce = Debounce(3)
    assert not any(judged(debounce, (0, False), (1, True), (2, False), (3, True), (4, True)))
    assert judged(debounce, (5, True), (6, True), (7, False)) == [True, True, False]


def test_one_frame_is_enough_if_one_is_asked_for():
    assert judged(Debounce(1), (0, False), (1, True)) == [False, True]


def test_frames_that_do_not_follow_each_other_are_no_run():
    debounce = Debounce(2)
    assert judged(debounce, (4, True), (6, True), (7, True)) == [False, False, True]
    assert judged(debounce, (3, True)) == [False]  # the steps began anew


def test_the_same_frame_again_counts_once():
    debounce = Debounce(2)
    assert judged(debounce, (1, True), (1, True), (1, True)) == [False, False, False]
    assert judged(debounce, (2, True), (2, True), (2, False), (3, True)) == [
        True,
        True,
        False,
        False,
    ]


def test_no_frames_are_refused():
    with pytest.raises(ValueError, match="frames 0 is below 1"):
        Debounce(0)
