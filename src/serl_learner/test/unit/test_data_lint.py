"""What is found in episodes: each fault once, in words that name the value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bag_writing import PERIOD, SESSION, episode_records

from serl_learner.data.definitions import difference
from serl_learner.data.lint import Limits, looked_over, saturation
from serl_learner.data.recording import Level, RecordedEpisode
from serl_learner.data.summary import Summary
from serl_learner.episodes import stretch
from serl_learner.types import spec_of


def recorded(records, **fields) -> RecordedEpisode:
    return RecordedEpisode("bag", stretch("actor", SESSION, records, **fields))


def found(records, spec=None, dim=None, **fields) -> list[tuple[Level, str]]:
    seen = looked_over(recorded(records, **fields), spec, dim)
    return [(finding.level, finding.text) for finding in seen.findings]


def changed(index: int, **fields):
    records = episode_records()
    records[index] = replace(records[index], **fields)
    return records


def observing(**arrays):
    """Records that observe these, and the pose."""
    return [
        replace(record, observation={**record.observation, **arrays})
        for record in episode_records()
    ]


def test_nothing_is_wrong_with_a_sound_one():
    assert found(episode_records()) == []


def test_case08_a_renamed_key_is_named_with_what_was_expected():
    spec = spec_of(episode_records()[0].observation)
    spec["state/tcp"] = spec.pop("state/pose")
    ((level, text),) = found(episode_records(), spec)
    assert level is Level.UNUSABLE
    assert "key 'state/pose' ((6,), 'float32') is not in the layout" in text
    del spec["image/wrist"], spec["state/tcp"]
    spec["state/pose"] = ((7,), "float32")
    assert "'image/wrist'" in found(episode_records(), spec)[0][1]


def test_case08_another_image_size_is_named_with_both():
    spec = spec_of(episode_records()[0].observation)
    spec["image/wrist"] = ((128, 128, 3), "uint8")
    ((level, text),) = found(episode_records(), spec)
    assert level is Level.UNUSABLE
    assert "'image/wrist' is ((8, 8, 3), 'uint8'), not ((128, 128, 3), 'uint8')" in text


def test_another_camera_set_is_named():
    records = observing(**{"image/side": np.zeros((8, 8, 3), np.uint8)})
    spec = spec_of(episode_records()[0].observation)
    ((_, text),) = found(records, spec)
    assert "key 'image/side' ((8, 8, 3), 'uint8') is not in the layout" in text


@pytest.mark.parametrize(
    ("records", "level", "says"),
    [
        (changed(2, terminated=True), Level.UNUSABLE, "terminated at step 2, but 6 steps follow"),
        (changed(1, truncated=True), Level.UNUSABLE, "truncated at step 1"),
        (changed(5, truncated=True), Level.NOTE, "terminated and truncated at once"),
        (changed(5, terminated=False), Level.NOTE, "succeeds, but does not terminate"),
        (changed(5, reward=0.0), Level.NOTE, "its last reward is 0"),
        (changed(6, success=False), Level.NOTE, "terminates without success"),
        (changed(6, aborted=True), Level.NOTE, "it was aborted"),
        (changed(3, reward=np.nan), Level.UNUSABLE, "reward nan is not finite"),
        (changed(3, action=np.full(6, 1.5, np.float32)), Level.UNUSABLE, "is not in [-1, 1]"),
        (changed(3, action=np.zeros(7, np.float32)), Level.UNUSABLE, "action has shape (7,)"),
        (changed(3, stamp_ns=3 * PERIOD), Level.UNUSABLE, "stamp of step 3 is not after"),
        (episode_records()[6:], Level.UNUSABLE, "it has no step"),
    ],
)
def test_each_fault_is_found(records, level, says):
    assert [(at, text) for at, text in found(records) if says in text and at is level]


def test_an_action_of_another_size_than_the_tasks():
    ((_, text),) = found(episode_records(), dim=7)
    assert "action has shape (6,), not (7,)" in text


def test_a_slow_step():
    records = [
        replace(record, stamp_ns=record.stamp_ns + (5 * PERIOD if record.step > 2 else 0))
        for record in episode_records()
    ]
    assert found(records) == [(Level.NOTE, "step 2 took 600 ms, the median is 100 ms")]


def test_a_step_that_is_missing_is_a_gap_unless_the_learner_had_refused_it():
    records = episode_records()
    del records[3]
    assert found(records) == [(Level.UNUSABLE, "a gap: step 4 follows on step 2")]
    ((level, text),) = found(records, refused=[3])
    assert level is Level.NOTE
    assert "no transition joins over them" in text


def test_a_dimension_that_is_saturated():
    records = episode_records(steps=10)
    for index in range(6):
        action = records[index].action.copy()
        action[2] = -1.0
        records[index] = replace(records[index], action=action)
    assert found(records) == [(Level.NOTE, "action 2 is saturated at 60% of the steps")]
    share = saturation(records[:10], Limits())
    np.testing.assert_allclose(share, [0, 0, 0.6, 0, 0, 0])


def test_a_camera_that_stands_still():
    still = np.zeros((8, 8, 3), np.uint8)
    ((level, text),) = found(observing(**{"image/wrist": still}))
    assert level is Level.NOTE
    assert text == "'image/wrist' shows the very same picture at 7 steps from 0 on"


def test_a_picture_of_another_time_than_the_state():
    records = episode_records()
    taken = np.int64(records[4].stamp_ns - 160_000_000)
    records[4] = replace(records[4], extras={"time/image/wrist": taken})
    assert found(records) == [
        (Level.NOTE, "'image/wrist' of step 4 is 160 ms from the arm's state")
    ]


def test_the_summary_counts():
    summary = Summary()
    for number in range(3):
        records = episode_records(number, steps=4 + number, success=number > 0)
        summary.add(looked_over(recorded(records)))
    summary.add(looked_over(recorded(changed(3, reward=np.inf))))
    plain = summary.to_plain()
    assert (plain["episodes"], plain["usable"]) == (4, 3)
    assert (plain["successes"], plain["demonstrations"]) == (2, 2)
    assert (plain["steps"], plain["lengths"]) == (15, [4, 5, 6])
    assert plain["returns"] == [0.0, 1.0, 1.0]
    assert plain["sources"] == {"DEMO": 15}
    assert plain["observation"]["image/wrist"] == [[8, 8, 3], "uint8"]
    assert any("2 of 3" in line for line in summary.lines())


def test_definitions_are_the_same_whatever_their_comments_and_order():
    ours = "uint8 A=1  # one\nHeader header\nTensor[] x\n\n=====\nMSG: a/Tensor\nint32 n\n"
    ours += "=====\nMSG: std_msgs/Header\nstring frame_id\n"
    theirs = "uint8 A = 1\nstd_msgs/Header header\na/Tensor[] x\n=====\nMSG: std_msgs/Header\n"
    theirs += "string frame_id\n=====\nMSG: a/msg/Tensor\nint32 n # how many\n"
    assert difference(theirs, ours) == ""
    assert difference(theirs.replace("int32 n", "int64 n"), ours) == "a/Tensor"
    assert difference(theirs.replace("A = 1", "A = 2"), ours) == "the message itself"
