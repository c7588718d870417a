"""Which crops are cached: the first plain, the others drawn, and always the same ones."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from serl_learner.vision.cached_crops import cached_crops
from serl_learner.vision.config import EncoderConfig

SESSION = b"0123456789abcdef"


def test_the_first_is_plain():
    crops = cached_crops(SESSION, 3, "wrist", EncoderConfig(crops=4, pad=4, colour_jitter=0.2))
    assert crops.offsets.shape == (4, 2)
    assert crops.colours.shape == (4, 3)
    np.testing.assert_array_equal(crops.offsets[0], [4, 4])
    np.testing.assert_array_equal(crops.colours[0], [0, 0, 0])
    single = cached_crops(SESSION, 3, "wrist", EncoderConfig(crops=1))
    np.testing.assert_array_equal(single.offsets, [[4, 4]])


def test_a_record_gets_these_crops_on_every_machine():
    """Changing them makes features encoded before differ from those encoded after a restart."""
    crops = cached_crops(SESSION, 3, "wrist", EncoderConfig(crops=4, pad=4))
    np.testing.assert_array_equal(crops.offsets, [[4, 4], [8, 7], [2, 0], [8, 0]])


def test_a_crop_does_not_depend_on_how_many_there_are():
    few, many = (cached_crops(SESSION, 3, "wrist", EncoderConfig(crops=k)) for k in (2, 6))
    np.testing.assert_array_equal(few.offsets, many.offsets[:2])


def drawn(session=SESSION, start=0, camera="wrist", crop=1):
    config = EncoderConfig(crops=crop + 1, pad=2)
    numbers = range(start, start + 2000)
    return np.array([cached_crops(session, n, camera, config).offsets[crop] for n in numbers])


def test_session_number_camera_and_crop_are_all_drawn_for_anew():
    """Joint counts of two draws, 5 x 5 cells each way, against the uniform distribution."""
    one = drawn()
    others = [
        drawn(session=b"another"),
        drawn(start=1),
        drawn(camera="side"),
        drawn(crop=2),
    ]
    for other in [one[:, ::-1], *others]:
        counts = np.bincount(one[:, 0] * 5 + other[:, 0], minlength=25)
        assert ((counts - 80) ** 2 / 80).sum() < chi2.ppf(0.9999, 24)


def test_fields_do_not_run_into_each_other():
    config = EncoderConfig(crops=8, pad=100)
    pairs = [(b"a", 11, "1x"), (b"a1", 1, "1x"), (b"a", 1, "11x"), (b"a", 111, "x")]
    seen = {cached_crops(*pair, config).offsets.tobytes() for pair in pairs}
    assert len(seen) == len(pairs)


def test_colours_are_drawn_within_their_strength():
    config = EncoderConfig(crops=200, colour_jitter=0.3)
    colours = cached_crops(SESSION, 0, "wrist", config).colours[1:]
    assert colours.dtype == np.float32
    assert 0.25 < np.abs(colours).max() <= 0.3
    assert np.abs(colours.mean(axis=0)).max() < 0.05
    assert not cached_crops(SESSION, 0, "wrist", EncoderConfig(crops=9)).colours.any()
