"""VICE's classifier: what it learns, what it rewards, its wire format and files."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_toy import FROZEN
from reward_toy import SIZES, labelled_episode, toy_frames
from vice_toy import QUICK, toy_goals

from serl_learner.episodes import EpisodeError
from serl_learner.params_codec import CorruptParams
from serl_learner.rewards import vice
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.frame_files import read_frames
from serl_learner.rewards.frames import BadFrames
from serl_learner.rewards.model import Judgement
from serl_learner.rewards.published import decode_model, encode_model

pytestmark = pytest.mark.usefixtures("tiny")

KEY = jax.random.PRNGKey(0)


@pytest.fixture
def goals(tiny):
    return toy_goals()


def test_it_learns_to_tell_goals_from_others(goals):
    judgement = Judgement(goals.model(goals.first))
    said = {label: [] for label in (0, 1)}
    for frame in toy_frames(episodes=2):
        said[frame.label].append(judgement.probability(frame.record.observation))
    assert min(said[1]) > 0.5 > max(said[0])


def test_a_success_is_rewarded_and_ends_and_nothing_else_does(goals):
    classifier = QUICK.classifier(FROZEN)
    both = [np.concatenate([goals.solved[k][:2, 0], goals.others[k][:2, 0]]) for k in goals.solved]
    following = {k: x[:, None] for k, x in zip(goals.solved, both, strict=True)}
    batch = {
        "next_observation": following,
        "reward": jnp.array([0.0, 1.0, 1.0, 0.0]),
        "terminated": jnp.array([False, True, True, True]),
    }
    made = vice.rewarded(goals.first, batch, QUICK, classifier)
    np.testing.assert_array_equal(made["reward"], [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(made["terminated"], [True, True, False, True])


def test_of_a_stack_the_newest_frame_counts(goals):
    newest = {k: x[:1, 0] for k, x in goals.solved.items()}
    before = {k: x[:1, 0] for k, x in goals.others.items()}
    stacked = {k: np.stack([before[k], newest[k]], axis=1) for k in newest}
    batch = {"next_observation": stacked, "reward": jnp.zeros(1), "terminated": jnp.zeros(1, bool)}
    assert vice.rewarded(goals.first, batch, QUICK, QUICK.classifier(FROZEN))["reward"] == 1.0


def test_what_is_published_judges_alike(goals):
    model = goals.model(goals.first)
    received = decode_model(encode_model(model, 3))
    estimator = RewardEstimator(Judgement(received))
    frame = toy_frames(episodes=1)[-1].record.observation
    assert received.model_id == model.model_id
    assert estimator.judge(1, 1, frame).probability == Judgement(model).probability(frame)


def test_the_next_version_is_taken_over_without_forgetting_the_frames(goals):
    fresh = vice.create_vice(
        KEY, goals.model(goals.first) and _one(goals), QUICK.classifier(FROZEN)
    )
    estimator = RewardEstimator(Judgement(goals.model(goals.first)), frames=2)
    frame = toy_frames(episodes=1)[-1].record.observation
    assert not estimator.judge(1, 1, frame).success
    estimator.adopt(goals.model(goals.first))
    assert estimator.judge(2, 2, frame).success
    estimator.adopt(goals.model(fresh))
    assert estimator.model_id == goals.model(fresh).model_id


def _one(goals):
    return {name: jnp.asarray(maps[:1, 0]) for name, maps in goals.solved.items()}


def test_damaged_bytes_and_another_kind_are_refused(goals):
    model = goals.model(goals.first)
    encoded = encode_model(model, 1)
    with pytest.raises(CorruptParams, match="crc32"):
        decode_model(dataclasses.replace(encoded, data=encoded.data[:-1] + b"x"))
    wider = dataclasses.replace(model, config=dataclasses.replace(model.config, hidden=9))
    with pytest.raises(ValueError, match="'hidden': 9"):
        Judgement(model).adopt(wider)


def test_goals_are_read_from_files_of_one_size(tmp_path):
    episodes = {tmp_path / f"{i}.mcap": labelled_episode(i, [0, 0, 1]) for i in range(2)}
    for path in episodes:
        path.touch()
    frames, sizes = read_frames(tmp_path, episodes.__getitem__)
    assert (len(frames), sizes) == (6, SIZES)


def test_no_file_or_a_damaged_one_is_refused_by_name(tmp_path):
    with pytest.raises(BadFrames, match="holds no episode"):
        read_frames(tmp_path, partial(labelled_episode, labels=[0]))
    (tmp_path / "a.mcap").touch()

    def damaged(path):
        raise EpisodeError(f"{path} is damaged")

    with pytest.raises(BadFrames, match=r"a\.mcap is damaged"):
        read_frames(tmp_path, damaged)
