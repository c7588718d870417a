"""Random crops and colours: their distribution, their edges, and what is independent of what."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from serl_learner.vision import augment as module
from serl_learner.vision.augment import crop, random_colours, random_offsets, recolour
from serl_learner.vision.config import EncoderConfig

augment = jax.jit(module.augment, static_argnames="config")
PAD = 2
SIZE = 9
MIDDLE = SIZE // 2
CONFIG = EncoderConfig(kind="small", pad=PAD)
KEYS = tuple(jax.random.split(jax.random.PRNGKey(7)))
COUNT = 25 * 400
SURE = 0.9999  # of a fixed seed: a right distribution does not fail by chance twice


def coordinates(count: int, frames: int = 1) -> jax.Array:
    """Images that say where each pixel is: its row and column are its first two channels."""
    rows, columns = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    image = np.stack([rows, columns, 0 * rows], axis=-1).astype(np.uint8)
    return jnp.broadcast_to(image, (count, frames, SIZE, SIZE, 3))


def shifts(images: jax.Array) -> np.ndarray:
    """Offsets of the crops that were made of `coordinates`: [B, T, 2] in 0..2 PAD."""
    return np.asarray(images[:, :, MIDDLE, MIDDLE, :2]).astype(int) - MIDDLE + PAD


def chi_square(values: np.ndarray, cells: int) -> float:
    """Of counts against the uniform distribution; below `chi2.ppf(p, cells - 1)` in p of cases."""
    counts = np.bincount(values, minlength=cells)
    assert len(counts) == cells
    expected = len(values) / cells
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.fixture(scope="module")
def drawn():
    """Offsets [B, 2] of two cameras, of an observation and of the one after it."""
    observation = {f"image/{name}": coordinates(COUNT) for name in ("side", "wrist")}
    pair = (augment(key, observation, config=CONFIG) for key in KEYS)
    return {
        f"{when} {name}": shifts(images[f"image/{name}"])[:, 0]
        for when, images in zip(("o", "o'"), pair)
        for name in ("side", "wrist")
    }


@pytest.mark.parametrize("which", ["o side", "o wrist", "o' side", "o' wrist"])
def test_all_offsets_are_equally_likely(drawn, which):
    sides = 2 * PAD + 1
    cell = drawn[which][:, 0] * sides + drawn[which][:, 1]
    assert chi_square(cell, sides**2) < chi2.ppf(SURE, sides**2 - 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [("o side", "o wrist"), ("o side", "o' side"), ("o wrist", "o' wrist"), ("o side", "o' wrist")],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_d16_cameras_and_consecutive_observations_are_cropped_independently(
    drawn, one, other, axis
):
    """SERL's cameras share one offset."""
    sides = 2 * PAD + 1
    cell = drawn[one][:, axis] * sides + drawn[other][:, axis]
    assert chi_square(cell, sides**2) < chi2.ppf(SURE, sides**2 - 1)


def test_frames_of_a_batch_are_cropped_independently(drawn):
    sides = 2 * PAD + 1
    offsets = drawn["o side"]
    cell = offsets[::2, 0] * sides + offsets[1::2, 0]
    assert chi_square(cell, sides**2) < chi2.ppf(SURE, sides**2 - 1)


def test_d16_frames_of_one_stack_share_their_crop():
    """SERL crops each frame of a stack differently, which looks like motion."""
    images = augment(KEYS[0], {"image/side": coordinates(50, frames=3)}, config=CONFIG)[
        "image/side"
    ]
    offsets = shifts(images)
    assert len(np.unique(offsets[:, 0], axis=0)) > 5
    np.testing.assert_array_equal(offsets, np.broadcast_to(offsets[:, :1], offsets.shape))


def test_the_plain_offset_changes_nothing():
    images = jax.random.randint(KEYS[0], (3, 2, SIZE, SIZE, 3), 0, 256).astype(jnp.uint8)
    cut = crop(images, jnp.full((3, 2), PAD), PAD)
    assert cut.dtype == jnp.uint8
    np.testing.assert_array_equal(cut, images)


def test_a_crop_goes_on_with_the_pixels_of_the_edge():
    image = jnp.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])[None, :, :, None]
    up_left, down_right = (crop(image, jnp.array([offset]), 1) for offset in ([0, 0], [2, 2]))
    np.testing.assert_array_equal(up_left[0, :, :, 0], [[1, 1, 2], [1, 1, 2], [4, 4, 5]])
    np.testing.assert_array_equal(down_right[0, :, :, 0], [[5, 6, 6], [8, 9, 9], [8, 9, 9]])


def test_a_crop_shifts_by_rows_and_columns():
    image = jnp.arange(12).reshape(1, 3, 4, 1)
    cut = crop(image, jnp.array([[2, 1]]), 1)
    np.testing.assert_array_equal(cut[0, :, :, 0], [[4, 5, 6, 7], [8, 9, 10, 11], [8, 9, 10, 11]])


def test_offsets_reach_both_edges_and_no_further():
    offsets = np.asarray(random_offsets(KEYS[0], 1000, 3))
    assert offsets.min() == 0
    assert offsets.max() == 6


def test_without_padding_images_stay_as_they_are():
    images = {"image/side": coordinates(4)}
    still = augment(KEYS[0], images, config=EncoderConfig(kind="small", pad=0))
    np.testing.assert_array_equal(still["image/side"], images["image/side"])


def test_only_images_are_touched():
    observation = {"state/pose": jnp.ones((4, 6)), "image/side": coordinates(4)}
    result = augment(KEYS[0], observation, config=CONFIG)
    assert sorted(result) == ["image/side", "state/pose"]
    np.testing.assert_array_equal(result["state/pose"], observation["state/pose"])
    assert augment(KEYS[0], {"state/pose": jnp.ones(2)}, config=CONFIG).keys() == {"state/pose"}


def test_the_same_key_crops_alike():
    observation = {"image/side": coordinates(64)}
    first, again, other = (
        augment(key, observation, config=CONFIG)["image/side"]
        for key in (KEYS[0], KEYS[0], KEYS[1])
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def naive_recolour(image, brightness, contrast, saturation):
    """One step after the other, in float64."""
    grey = np.array([0.299, 0.587, 0.114])
    x = image * (1 + brightness)
    mean = (x @ grey).mean()
    x = mean + (x - mean) * (1 + contrast)
    x = (x @ grey)[..., None] + (x - (x @ grey)[..., None]) * (1 + saturation)
    return np.clip(np.round(x), 0, 255)


@pytest.mark.parametrize(
    "change", [(0, 0, 0), (0.3, 0, 0), (0, -0.4, 0), (0, 0, 0.5), (0, 0, -1), (0.2, 0.3, -0.4)]
)
def test_colours_change_one_step_after_the_other(change):
    images = np.random.default_rng(0).integers(0, 256, (2, 2, 4, 5, 3), dtype=np.uint8)
    changes = jnp.array([change, (0.0, 0.0, 0.0)], jnp.float32)
    found = recolour(jnp.asarray(images), changes)
    assert found.dtype == jnp.uint8
    for frame in range(2):
        expected = naive_recolour(images[0, frame], *change)
        np.testing.assert_allclose(found[0, frame].astype(int), expected, atol=1)
    np.testing.assert_array_equal(found[1], images[1])


def test_colours_are_drawn_evenly_within_their_strength():
    changes = np.asarray(random_colours(KEYS[0], 9000, 0.2))
    assert np.abs(changes).max() <= 0.2
    bins = np.clip(np.floor((changes + 0.2) / 0.04), 0, 9).astype(int)
    for channel in range(3):
        assert chi_square(bins[:, channel], 10) < chi2.ppf(SURE, 9)


def test_colour_jitter_is_an_option_and_the_frames_of_a_stack_share_it():
    image = jnp.full((8, 2, SIZE, SIZE, 3), jnp.array([200, 100, 50], jnp.uint8))
    config = EncoderConfig(kind="small", pad=0, colour_jitter=0.3)
    changed = np.asarray(augment(KEYS[0], {"image/side": image}, config=config)["image/side"])
    np.testing.assert_array_equal(changed[:, 0], changed[:, 1])
    assert len(np.unique(changed[:, 0, 0, 0], axis=0)) == 8
