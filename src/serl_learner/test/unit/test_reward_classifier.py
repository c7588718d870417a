"""A classifier is learned, keeps its threshold's promise, and is the same after its file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest
from image_toy import tiny_trunk
from reward_toy import QUICK, SIZES, labelled_episode, picture, toy_frames

from serl_learner import frame_encoder
from serl_learner.rewards import training
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.frames import BadFrames, labelled_frames
from serl_learner.rewards.model import Judgement, RewardModel, UnusableObservation
from serl_learner.rewards.model_file import read_model, write_model
from serl_learner.rewards.model_header import ModelError, read_header
from serl_learner.rewards.study import Study, study
from serl_learner.vision.config import EncoderConfig


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    """The frozen network takes no time."""
    trunk = tiny_trunk()
    monkeypatch.setattr(frame_encoder, "_load", lambda config: trunk)


@cache
def learned(seed: int) -> Study:
    """The quickly learned task, once for all tests that look at the same."""
    return study(toy_frames(), SIZES, QUICK, seed=seed)


@pytest.fixture
def model() -> RewardModel:
    """Trained on it."""
    return learned(1).model


def observation(label: int, seed: int = 77) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"image/{camera}": picture(rng, label) for camera in SIZES}


def test_it_is_learned_and_judged_on_episodes_it_has_not_seen():
    done = learned(1)
    assert done.chosen.precision == 1.0
    assert done.chosen.recall == 1.0
    assert done.met
    assert done.model.report["trained_on"] == [30, 10]
    assert done.model.report["judged_on"] == [6, 2]
    assert done.model.report["area_under_roc"] == 1.0
    assert done.confusion.tolist() == [[6, 0], [0, 2]]


@pytest.mark.slow
def test_noise_is_not_learned():
    frames = toy_frames(12)
    rng = np.random.default_rng(0)
    shuffled = [replace(frame, label=int(rng.random() < 0.3)) for frame in frames]
    done = study(shuffled, SIZES, replace(QUICK, held_out=0.5), seed=0)
    assert done.model.report["area_under_roc"] < 0.8


def test_it_repeats_for_its_seed():
    again = study(toy_frames(), SIZES, QUICK, seed=1)
    assert again.model.model_id == learned(1).model.model_id != learned(2).model.model_id


def test_a_batch_has_every_class_as_often_however_rare_it_is():
    labels = np.array([0] * 97 + [1] * 3)
    table, sizes = training._members(labels, 2)
    assert sizes.tolist() == [97, 3]
    assert set(table[1, :3]) == {97, 98, 99}


def test_the_members_are_averaged_and_began_differently(model):
    seen = observation(1)
    alone = []
    for member in range(QUICK.members):
        params = jax.tree.map(lambda leaf, m=member: leaf[m : m + 1], model.params)
        one = replace(model, config=replace(model.config, members=1), params=params)
        alone.append(Judgement(one).probability(seen))
    assert len(set(alone)) == QUICK.members > 1
    assert Judgement(model).probability(seen) == pytest.approx(np.mean(alone), abs=1e-6)


@pytest.mark.slow
def test_stages_of_a_task_are_told_apart():
    config = replace(QUICK, classes=3, updates=150)
    frames = [
        frame
        for number in range(5)
        for frame in labelled_frames(
            labelled_episode(number, [0, 0, 0, 1, 1, 2, 2], stages=True), "toy", SIZES, 3
        )
    ]
    done = study(frames, SIZES, config, seed=0)
    assert done.confusion.tolist() == [[3, 0, 0], [0, 2, 0], [0, 0, 2]]
    judge = Judgement(done.model)
    assert judge.classes(observation(1)).argmax() == 1
    assert judge.probability(observation(2)) > 0.5 > judge.probability(observation(1))


def test_training_without_positives_is_refused():
    with pytest.raises(BadFrames, match="no positives"):
        study(toy_frames(labels=(0, 0, 0)), SIZES, QUICK)


def test_the_file_gives_the_same_model(tmp_path, model):
    path = tmp_path / "classifier.model"
    write_model(path, model)
    read = read_model(path)
    assert read.model_id == model.model_id
    assert (read.threshold, read.frames, read.sizes) == (
        model.threshold,
        model.frames,
        model.sizes,
    )
    assert read.config == model.config
    assert read.report == model.report
    jax.tree.map(np.testing.assert_array_equal, read.params, model.params)
    seen = observation(1)
    assert Judgement(read).probability(seen) == Judgement(model).probability(seen)
    assert read_header(path)["weights_hash"] == tiny_trunk().weights_hash


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: b"other" + c, "is no reward classifier"),
        (lambda c: c[:200], "damaged"),
        (lambda c: c[:-9] + bytes([c[-9] ^ 1]) + c[-8:], "crc32"),
        (lambda c: c.replace(b'"side": [32, 32]', b'"side": [40, 32]'), "damaged|its header"),
        (lambda c: c.replace(b'"weights_hash": "0', b'"weights_hash": "1'), "was trained on"),
        (lambda c: c.replace(b'"hidden": 16', b'"hidden": 17'), "damaged"),
    ],
)
def test_a_file_that_was_changed_is_refused_by_name(tmp_path, model, damage, message):
    path = tmp_path / "classifier.model"
    write_model(path, model)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"something else that is long", "is no reward classifier: begins b'something else t'"),
        (b"serl-reward-1", "is no reward classifier: begins b'serl-reward-1'"),
        (b'serl-reward-1\n{"model_id"', "has a damaged header: .* line 1 column 12"),
        (b"serl-reward-1\n\xff\n", "has a damaged header: .*codec can't decode"),
        (b"serl-reward-1\n{}\nweights", "has a damaged header: no model_id"),
    ],
)
@pytest.mark.parametrize("read", [read_header, read_model])
def test_a_file_that_begins_otherwise_is_refused(tmp_path, read, content, message):
    path = tmp_path / "classifier.model"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        read(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ModelError, match="classifier.model cannot be read: No such file"):
        read_model(tmp_path / "classifier.model")


def test_an_observation_without_a_camera_or_of_another_size_is_refused(model):
    judge = Judgement(model)
    seen = observation(0)
    with pytest.raises(UnusableObservation, match="camera 'wrist' is missing; there are: side"):
        judge.probability({"image/side": seen["image/side"]})
    small = {**seen, "image/wrist": seen["image/wrist"][:16]}
    with pytest.raises(UnusableObservation, match=r"'wrist' has images uint8 \[16, 32, 3\]"):
        judge.probability(small)


def test_the_id_changes_with_weights_and_preprocessing(model):
    other = jax.tree.map(lambda leaf: leaf + np.float32(1e-3), model.params)
    ids = {
        model.model_id,
        replace(model, params=other).model_id,
        replace(model, weights_hash="1" * 64).model_id,
        replace(model, sizes={**SIZES, "side": (64, 64)}).model_id,
    }
    assert len(ids) == 4
    assert replace(model, threshold=0.7).model_id == model.model_id


@pytest.mark.parametrize(
    ("field", "value"),
    [("held_out", 1.0), ("classes", 1), ("frames", 0), ("false_positive_rate", 0.0)],
)
def test_wrong_figures_are_refused_with_their_value(field, value):
    with pytest.raises(ValueError, match=f"{field} {value}"):
        ClassifierConfig(**{field: value})


def test_an_encoder_that_is_trained_is_refused():
    with pytest.raises(ValueError, match="'small' is not a frozen network"):
        ClassifierConfig(encoder=EncoderConfig(kind="small"))
