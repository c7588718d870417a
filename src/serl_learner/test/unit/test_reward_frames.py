"""What a classifier may be trained on: both classes, every camera, one size, whole episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reward_toy import SIZES, labelled_episode, toy_frames, without_camera

from serl_learner.rewards.frames import (
    BadFrames,
    check_balance,
    counts,
    labelled_frames,
    split,
    thin,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_every_record_becomes_a_frame_with_its_images_alone():
    frames = labelled_frames(labelled_episode(3, [0, 0, 1]), "f.mcap", SIZES)
    assert [frame.label for frame in frames] == [0, 0, 1]
    assert set(frames[0].record.observation) == {"image/side", "image/wrist"}
    assert frames[0].episode == frames[2].episode


def test_a_missing_camera_is_refused_by_name():
    episode = without_camera(labelled_episode(3, [0, 1]), "wrist")
    with pytest.raises(BadFrames, match=r"f.mcap.*camera 'wrist' is missing; there are: side"):
        labelled_frames(episode, "f.mcap", SIZES)


def test_a_camera_that_is_not_asked_for_is_left_out():
    (frame, _) = labelled_frames(labelled_episode(3, [0, 1]), "f.mcap", {"side": SIZES["side"]})
    assert set(frame.record.observation) == {"image/side"}


def test_another_image_size_is_refused_with_both():
    sizes = {**SIZES, "side": (128, 96)}
    with pytest.raises(BadFrames, match=r"'side' has images uint8 \[32, 32, 3\].*\[128, 96, 3\]"):
        labelled_frames(labelled_episode(3, [0, 1]), "f.mcap", sizes)


def test_a_record_without_label_is_refused():
    episode = labelled_episode(3, [0, 1])
    bare = replace(episode, entries=tuple(replace(r, extras={}) for r in episode.records))
    with pytest.raises(BadFrames, match="step 0 of episode 3: no label/success"):
        labelled_frames(bare, "f.mcap", SIZES)
    with pytest.raises(BadFrames, match=r"no label/stage among its extras \(label/success\)"):
        labelled_frames(episode, "f.mcap", SIZES, classes=3)


def test_a_stage_that_is_no_class_is_refused():
    with pytest.raises(BadFrames, match=r"label/stage is 3, expected 0 .. 2"):
        labelled_frames(labelled_episode(3, [0, 3], stages=True), "f.mcap", SIZES, 3)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ((0,) * 4, "no positives .* among 24 frames"),
        ((1,) * 4, "no negatives .* among 24 frames"),
    ],
)
def test_one_sided_frames_are_refused(labels, message):
    with pytest.raises(BadFrames, match=message):
        split(toy_frames(labels=labels), 0.2, 2, rng())


def test_no_frames_are_refused():
    with pytest.raises(BadFrames, match="no negatives .* and positives .* among 0 frames"):
        check_balance([], 2, "the frames")


def test_whole_episodes_judge_with_both_classes():
    train, judging = split(toy_frames(), 0.2, 2, rng())
    apart = {frame.episode for frame in judging}
    assert len(apart) == 1
    assert apart.isdisjoint({frame.episode for frame in train})
    assert len(train) + len(judging) == 48
    assert min(counts(judging, 2)) > 0


def test_a_single_episode_with_positives_cannot_be_split():
    frames = toy_frames(1) + [replace(f, label=0) for f in toy_frames(4)[8:]]
    with pytest.raises(BadFrames, match="the held-out episodes: no positives"):
        split(frames, 0.2, 2, rng())


def test_thinning_keeps_at_most_so_many_of_each_class():
    frames = toy_frames()
    assert counts(thin(frames, {0: 10, 1: 5}, rng()), 2) == [10, 5]
    assert counts(thin(frames, {1: 500}, rng()), 2) == [36, 12]


def test_frames_beside_solved_ones_are_near_and_kept_first():
    labels = [0] * 30 + [1] * 2 + [0] * 12
    frames = labelled_frames(labelled_episode(0, labels), "f.mcap", SIZES)
    assert [i for i, frame in enumerate(frames) if frame.near] == [*range(22, 30), *range(32, 40)]
    kept = thin(frames, {0: 20}, rng())
    assert counts(kept, 2) == [20, 2]
    assert sum(frame.near for frame in kept) >= 10
    assert sum(frame.near for frame in thin(frames, {0: 40}, rng())) == 16
