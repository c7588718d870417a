"""Bags of `ros2 bag record` load as well as files of the log; damaged ones say what is wrong."""

from __future__ import annotations

import array
from dataclasses import replace

import numpy as np
import pytest
from bag_writing import (
    SESSION,
    TRANSITION,
    cut,
    episode_records,
    episodes,
    raw,
    read,
    texts,
    write_bag,
    write_mcap,
)
from mcap.writer import CompressionType, Writer
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionMode, Reader
from test_ros_records import assert_same

from serl_learner.data.bag_file import BagError, bag_files
from serl_learner.data.bag_index import write_index
from serl_learner.data.recording import Level, relabelled
from serl_learner.episodes import EpisodeError, is_demonstration, stretch
from serl_learner.ros_bag import read_recordings
from serl_learner.ros_log import encode_episode, read_episode
from serl_learner.ros_records import record_to_msg
from serl_learner.types import Relabel


def assert_holds(recording, records):
    """Its episodes are sound, and together these records, bit by bit."""
    assert all(recorded.usable for recorded in recording.episodes)
    found = [record for e in recording.episodes for record in e.episode.records]
    assert len(found) == len(records)
    for a, b in zip(found, records, strict=True):
        assert_same(a, b)


@pytest.mark.parametrize("namespace", ["", "/robot1"])
@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_several_episodes_of_one_bag(tmp_path, plugin, namespace):
    records = episodes(3)
    recording = read(write_bag(tmp_path / "bag", records, plugin, namespace))
    assert_holds(recording, records)
    assert [len(e.episode.records) for e in recording.episodes] == [6, 7, 8]
    assert all(is_demonstration(e.episode) for e in recording.episodes)
    assert texts(recording) == []


@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE])
def test_what_rosbag2_compressed(tmp_path, mode):
    records = episodes(2)
    assert_holds(read(write_bag(tmp_path / "bag", records, "sqlite3", compression=mode)), records)


@pytest.mark.parametrize("compression", CompressionType)
def test_chunks_that_are_compressed(tmp_path, compression):
    records = episodes(2)
    path = write_mcap(tmp_path / "a.mcap", records, compression, chunk_size=2000)
    assert_holds(read(path), records)


def test_what_was_sent_again_counts_once_and_order_does_not_matter(tmp_path):
    records = episodes(2)
    shuffled = [records[i] for i in np.random.default_rng(0).permutation(len(records))]
    sent = [*shuffled, *records[2:5], records[-1]]
    assert_holds(read(write_mcap(tmp_path / "a.mcap", sent)), records)


def test_a_bag_that_rosbag2_split(tmp_path):
    records = episodes(2)
    (tmp_path / "bag").mkdir()
    write_mcap(tmp_path / "bag" / "bag_9.mcap", records[:8])
    write_mcap(tmp_path / "bag" / "bag_10.mcap", records[8:])
    assert [p.name for p in bag_files(tmp_path / "bag")] == ["bag_9.mcap", "bag_10.mcap"]
    assert_holds(read(tmp_path / "bag"), records)


def test_late_verdicts_are_found_and_take_a_number(tmp_path):
    records = episode_records(0, 0, steps=4)
    tail = episode_records(1, 6, steps=3)
    relabel = Relabel(SESSION, 5, 1, 3, -0.5, True, stamp_ns=1)
    recording = read(write_bag(tmp_path / "bag", [*records, relabel, *tail]))
    assert_holds(recording, [*relabelled(records, [relabel]), *tail])
    changed = recording.episodes[0].episode.records
    assert [r.reward for r in changed] == [0.0, -0.5, -0.5, -0.5, 0.0]
    assert [r.terminated for r in changed] == [False, True, True, True, False]
    assert not changed[-1].success  # as the verdict over its last step has it


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_veto_in_a_later_file_of_the_log_is_in_the_records(tmp_path, compression):
    records, tail = episode_records(0, 0, steps=4), episode_records(1, 6, steps=3)
    veto = Relabel(SESSION, 5, 3, 3, 0.0, False, stamp_ns=1)
    stranger = replace(veto, session=bytes(16))
    for name, entries in {"n1": records, "n2": [veto, *tail], "relabels/n3": [stranger]}.items():
        path = tmp_path / f"{name}.mcap"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encode_episode(stretch("actor", SESSION, entries), compression))
    first, second = [e.episode for r in read_recordings([tmp_path]) for e in r.episodes]
    assert (first.records[3].reward, first.records[3].terminated) == (0.0, False)
    assert not is_demonstration(first)
    assert is_demonstration(second)
    assert [entry.seq for entry in second.entries] == [6, 7, 8, 9]
    alone = read(tmp_path / "n1.mcap").episodes[0].episode
    assert is_demonstration(alone)


def test_a_relabel_that_cannot_be_used_is_no_episode(tmp_path):
    records = episode_records()
    bad = Relabel(SESSION, 7, 3, 9, 0.0, False, stamp_ns=1)
    recording = read(write_bag(tmp_path / "bag", [*records, bad, *episode_records(1, 8)]))
    assert [e.usable for e in recording.episodes] == [True, True]
    (text,) = texts(recording)
    assert text.startswith("unusable: ")
    assert "relabel 7 of actor 'actor': records 3..9 are no range below 7" in text


def write_with_images(path, records):
    """Messages of another type before each record."""
    with open(path, "wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2")
        kinds = [(TRANSITION, "/transitions"), ("sensor_msgs/msg/Image", "/image")]
        channels = [
            writer.register_channel(topic, "cdr", writer.register_schema(kind, "ros2msg", b""))
            for kind, topic in kinds
        ]
        for stamp in range(20):
            writer.add_message(channels[1], stamp, b"a picture", stamp)
        for record in records:
            _, data, stamp = raw(record)
            writer.add_message(channels[0], stamp, data, stamp)
        writer.finish()
    return path


def test_other_topics_do_not_matter(tmp_path):
    records = episodes(2)
    assert_holds(read(write_with_images(tmp_path / "a.mcap", records)), records)


def test_a_bag_of_other_topics_alone_says_what_it_holds(tmp_path):
    (text,) = texts(read(write_with_images(tmp_path / "a.mcap", [])))
    assert "holds no message of serl_interfaces/msg/Transition" in text
    assert "{'sensor_msgs/msg/Image': 20}" in text


def test_case09_a_bag_that_was_cut_off_gives_the_episodes_that_are_whole(tmp_path):
    records = episodes(4)
    path = write_mcap(tmp_path / "a.mcap", records, chunk_size=1)
    whole = path.stat().st_size
    seen = set()
    for size in np.linspace(8, whole - 300, 12).astype(int):
        recording = read(cut(path, int(size)))
        usable = [e for e in recording.episodes if e.usable]
        for recorded in usable:
            number = recorded.episode.number
            expected = [r for r in records if r.episode == number]
            assert len(recorded.episode.records) == len(expected)
        assert any("was cut off" in text for text in texts(recording))
        assert not any(text.startswith("unusable") for text in texts(recording)[1:])
        seen.add(len(usable))
    assert {0, 1, 2, 3} <= seen


def test_case09_a_file_of_the_log_that_was_cut_off(tmp_path):
    records = episode_records()
    content = encode_episode(stretch("actor", SESSION, records), "none")
    (tmp_path / "a.mcap").write_bytes(content[: len(content) // 2])
    recording = read(tmp_path / "a.mcap")
    assert not any(e.usable for e in recording.episodes)
    assert "cut off" in " ".join(texts(recording))


def test_a_gap_is_unusable_and_names_what_is_missing(tmp_path):
    records = episodes(3)
    lost = {8, 9, 11}
    path = write_mcap(tmp_path / "a.mcap", [r for r in records if r.seq not in lost])
    recording = read(path)
    assert [e.usable for e in recording.episodes] == [True, False, True]
    assert texts(recording) == ["unusable: a gap: records 8..9, 11 are missing"]


def test_a_recording_that_began_late_or_ended_early_is_incomplete_there(tmp_path):
    records = episodes(3)
    recording = read(write_mcap(tmp_path / "a.mcap", records[2:-3]))
    assert [e.usable for e in recording.episodes] == [False, True, False]
    assert texts(recording) == [
        "incomplete: it was recorded from step 2 on",
        "incomplete: the recording ends after step 4",
    ]
    assert not is_demonstration(recording.episodes[0].episode)


def test_nan_is_unusable_and_named(tmp_path, monkeypatch):
    records = episodes(2)
    messages = [raw(record) for record in records]
    bad = record_to_msg(records[3])
    values = np.full(6, np.nan, np.float32)
    bad.observation.tensors[1].data = array.array("B", values.tobytes())
    messages[3] = (TRANSITION, serialize_message(bad), 1)
    monkeypatch.setattr("bag_writing.raw", lambda message: message)
    recording = read(write_mcap(tmp_path / "a.mcap", messages))
    assert [e.usable for e in recording.episodes] == [False, True]
    (text,) = texts(recording)
    assert text.startswith("unusable: record 3 of actor 'actor': 'state/pose' holds nan")


def test_a_flipped_byte_is_unusable(tmp_path):
    path = write_mcap(tmp_path / "a.mcap", episodes(2))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    recording = read(path)
    assert any(f.level is Level.UNUSABLE for f in recording.findings)
    assert "a.mcap is damaged" in texts(recording)[0]


@pytest.mark.parametrize("name", ["empty.mcap", "text.mcap", "text.db3", "nothing"])
def test_what_is_no_bag_is_named(tmp_path, name):
    (tmp_path / "text.mcap").write_bytes(b"not a bag at all")
    (tmp_path / "text.db3").write_bytes(b"not a bag at all")
    (tmp_path / "empty.mcap").touch()
    if name == "nothing":
        with pytest.raises(BagError, match="there is no such file"):
            list(read_recordings([tmp_path / name]))
        return
    (text,) = texts(read(tmp_path / name))
    assert text.startswith("unusable:")
    assert name in text


def test_a_directory_without_a_bag(tmp_path):
    with pytest.raises(BagError, match="holds no bag"):
        list(read_recordings([tmp_path]))


def test_a_bag_of_several_episodes_is_no_file_of_the_log(tmp_path):
    path = write_mcap(tmp_path / "a.mcap", episodes(3))
    with pytest.raises(EpisodeError, match="holds 3 episodes"):
        read_episode(path)


def test_a_directory_of_the_log_is_a_bag_for_rosbag2(tmp_path):
    records = episodes(3)
    for number in range(3):
        own = [r for r in records if r.episode == number]
        content = encode_episode(stretch("actor", SESSION, own))
        (tmp_path / f"n{number:06d}.mcap").write_bytes(content)
    (tmp_path / "n000009.mcap").write_bytes(b"unfinished")
    write_index(tmp_path)
    with Reader(tmp_path) as reader:
        assert reader.message_count == len(records)
        assert [(c.topic, c.msgtype) for c in reader.connections] == [("transitions", TRANSITION)]
    with AnyReader([tmp_path]) as reader:
        found = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages()]
    assert [m.seq for m in found] == [r.seq for r in records]
    assert found[0].observation.tensors[1].name == "state/pose"
    first = found[0].observation.tensors[1].data.tobytes()
    assert first == records[0].observation["state/pose"].tobytes()


def test_an_index_without_files_is_removed(tmp_path):
    (tmp_path / "metadata.yaml").write_text("old")
    write_index(tmp_path)
    assert not (tmp_path / "metadata.yaml").exists()


def test_a_broken_off_episode_of_the_log_is_incomplete(tmp_path):
    records = episode_records()[:-1]
    whole = stretch("actor", SESSION, records, reason="the actor was silent for 10 s")
    (tmp_path / "a.mcap").write_bytes(encode_episode(whole))
    (text,) = texts(read(tmp_path / "a.mcap"))
    assert text == "incomplete: it was broken off: the actor was silent for 10 s"
    rest = replace(stretch("actor", SESSION, episode_records()[3:]), part=1)
    (tmp_path / "a.mcap").write_bytes(encode_episode(rest))
    (text,) = texts(read(tmp_path / "a.mcap"))
    assert text == "incomplete: it is the rest of one that was broken off"
