"""Crop and resize, limits of age and skew, pictures of several steps."""

from __future__ import annotations

import numpy as np
import pytest

from serl_actor.camera_views import CamerasConfig, look, view
from serl_actor.frame_history import FrameHistory
from serl_actor.frames import Frame, FrameLimits, StaleImage, UnusableImage, check_frames

TWO = ("wrist", "side")


def numbered(height: int, width: int) -> np.ndarray:
    """Row number in red, column number in green, 200 in blue."""
    rows, columns = np.mgrid[0:height, 0:width]
    return np.stack((rows, columns, np.full_like(rows, 200)), axis=-1).astype(np.uint8)


def test_the_crop_takes_rows_then_columns_and_leaves_colours_in_order():
    seen = view("wrist", numbered(64, 100), (10, 42, 60, 92), 32)
    np.testing.assert_array_equal(seen[0, 0], (10, 60, 200))
    np.testing.assert_array_equal(seen[-1, -1], (41, 91, 200))


def test_a_new_pixel_is_the_mean_of_its_area():
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[0:2, 0:2, 0] = ((10, 20), (30, 40))
    pixels[2:4, 0:2, 1] = 100
    seen = view("wrist", pixels, None, 16)
    assert seen.shape == (16, 16, 3)
    assert seen.dtype == np.uint8
    np.testing.assert_array_equal(seen[0, 0], (25, 0, 0))
    np.testing.assert_array_equal(seen[1, 0], (0, 100, 0))


def test_a_picture_of_the_right_size_stays_as_it_is():
    pixels = numbered(32, 32)
    np.testing.assert_array_equal(view("wrist", pixels, None, 32), pixels)


def test_each_camera_has_its_own_crop():
    config = CamerasConfig(TWO, 32, (0, 32, 0, 32, 4, 36, 8, 40))
    frames = {name: Frame(0, numbered(48, 48)) for name in TWO}
    seen = look(frames, config)
    assert list(seen) == ["image/wrist", "image/side"]
    np.testing.assert_array_equal(seen["image/wrist"][0, 0], (0, 0, 200))
    np.testing.assert_array_equal(seen["image/side"][0, 0], (4, 8, 200))


def test_a_crop_that_reaches_out_of_the_picture_is_told():
    with pytest.raises(UnusableImage, match=r"camera wrist: .* 100 x 64 .* rows 0 to 65"):
        view("wrist", numbered(64, 100), (0, 65, 0, 65), 32)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"crops": (5, 5, 0, 16)}, "camera wrist is rows 5 to 5"),
        ({"crops": (0, 16, 20, 10)}, "columns 20 to 10"),
        ({"crops": (-1, 16, 0, 10)}, "rows -1 to 16"),
        ({"crops": (0, 16, 0)}, "crops are 3 numbers"),
        ({"image_size": 0}, "image_size is 0"),
        ({"image_size": 31}, "expected 32 .. 1024"),
        ({"names": ("wrist", "wrist")}, "different names"),
        ({"names": ("",)}, "different names"),
    ],
)
def test_unusable_figures_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        CamerasConfig(**{"names": ("wrist",), **fields})


@pytest.mark.parametrize("name", ["max_age", "max_skew", "patience"])
def test_a_limit_must_be_a_time(name):
    with pytest.raises(ValueError, match=f"{name} is 0.0 s"):
        FrameLimits(**{name: 0.0})


def frames_at(**stamps_ms: int) -> dict[str, Frame]:
    return {name: Frame(ms * 1_000_000, numbered(2, 2)) for name, ms in stamps_ms.items()}


@pytest.mark.parametrize("stamp_ms", [850, 1000, 1150])
def test_d29_a_picture_within_the_skew_is_one_of_now(stamp_ms):
    check_frames(frames_at(wrist=1000, side=stamp_ms), TWO, 1_000_000_000, 0.15)


@pytest.mark.parametrize(("stamp_ms", "when"), [(849, "0.151 s before"), (1151, "0.151 s after")])
def test_d29_a_picture_beyond_the_skew_is_stale(stamp_ms, when):
    with pytest.raises(StaleImage, match=rf"camera side: .*{when} the arm's state, limit 0.15 s"):
        check_frames(frames_at(wrist=1000, side=stamp_ms), TWO, 1_000_000_000, 0.15)


def test_a_camera_without_any_picture_is_named():
    with pytest.raises(StaleImage, match=r"camera side: no picture; there are some of \['wrist'\]"):
        check_frames(frames_at(wrist=1000), TWO, 1_000_000_000, 0.15)


def picture(value: int) -> dict[str, np.ndarray]:
    return {"image/wrist": np.full((2, 2, 3), value, np.uint8), "state/q": np.zeros(1)}


def test_the_first_picture_stands_for_those_before_it():
    history = FrameHistory(3)
    first = history.extend(picture(1))
    assert first["image/wrist"].shape == (3, 2, 2, 3)
    assert first["state/q"].shape == (1,)
    second = history.extend(picture(2))
    history.extend(picture(3))
    fourth = history.extend(picture(4))
    newest = [seen["image/wrist"][:, 0, 0, 0].tolist() for seen in (first, second, fourth)]
    assert newest == [[1, 1, 1], [1, 1, 2], [2, 3, 4]]


def test_nothing_is_seen_from_before_a_beginning():
    history = FrameHistory(2)
    history.extend(picture(1))
    history.begin()
    assert history.extend(picture(5))["image/wrist"][:, 0, 0, 0].tolist() == [5, 5]


def test_one_picture_needs_no_history():
    seen = picture(1)
    assert FrameHistory(1).extend(seen) is seen
