"""The strip of an episode: which moments, and where each picture goes."""

from __future__ import annotations

import numpy as np
import pytest

from serl_franka_bringup.episode_picture import GAP, SIZE, choose_moments, make_strip


def grey(value: int, size: int) -> np.ndarray:
    return np.full((size, size, 3), value, np.uint8)


def test_moments_are_apart_and_hold_both_ends():
    assert choose_moments(62, 8) == [0, 9, 17, 26, 35, 44, 52, 61]
    assert choose_moments(3, 3) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"columns is 4, expected 2 \.\. 3"):
        choose_moments(3, 4)


def test_a_column_is_a_moment_and_a_row_a_camera():
    pictures = [{"wrist": grey(10 * t, SIZE), "scene": grey(100 + t, 2 * SIZE)} for t in range(3)]
    strip = np.asarray(make_strip(pictures, [0.0, 1.5, 3.0]))
    head = strip.shape[0] - 2 * SIZE - GAP
    assert strip.shape[1] == 3 * SIZE + 2 * GAP
    for column in range(3):
        x = column * (SIZE + GAP) + SIZE - 1
        assert strip[head + SIZE - 1, x, 0] == 10 * column
        assert strip[head + 2 * SIZE + GAP - 1, x, 0] == 100 + column
        assert (strip[:head, x - SIZE // 2 - 15 : x - SIZE // 2 + 15] < 128).any()  # the time
