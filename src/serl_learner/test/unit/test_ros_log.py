"""Episodes on disk: whole or absent, readable by any MCAP reader."""

import re

import numpy as np
import pytest
from mcap.reader import make_reader
from test_ros_records import assert_same, random_record

from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import Episode, EpisodeError, check_episode
from serl_learner.ros_log import COMPRESSIONS, encode_episode, read_episode, schema_text
from serl_learner.types import Record, Relabel, spec_of


@pytest.fixture
def records():
    rng = np.random.default_rng(5)
    return [random_record(rng, last=i == 9) for i in range(10)]


def as_episode(entries, **fields) -> Episode:
    return Episode("a", bytes(range(16)), tuple(entries), **fields)


def write_episode(path, entries, **fields):
    path.write_bytes(encode_episode(as_episode(entries, **fields)))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_round_trip_keeps_order_and_every_field(tmp_path, records, compression):
    relabel = Relabel(bytes(range(16)), 2**40, 7, 9, -0.5, True, stamp_ns=1, actor_id="a")
    entries = [*records[:4], relabel, *records[4:]]
    written = as_episode(entries, refused=(3, 2**50), part=2, reason="broken", next_seq=2**50 + 1)
    (tmp_path / "e.mcap").write_bytes(encode_episode(written, compression))
    found = read_episode(tmp_path / "e.mcap")
    assert len(found.entries) == len(entries)
    for a, b in zip(found.entries, entries, strict=True):
        if isinstance(b, Record):
            assert_same(a, b)
        else:
            assert a == b
    for name in ("actor_id", "session", "refused", "part", "reason", "complete", "next_seq"):
        assert getattr(found, name) == getattr(written, name), name


def test_a_file_of_refused_numbers_alone(tmp_path):
    write_episode(tmp_path / "e.mcap", [], refused=(4, 5), next_seq=6)
    found = read_episode(tmp_path / "e.mcap")
    assert (found.entries, found.refused, found.number, found.next_seq) == ((), (4, 5), None, 6)


def test_metadata_say_what_the_messages_do_not(tmp_path, records):
    write_episode(tmp_path / "e.mcap", records, refused=(12, 15), reason="gone", next_seq=16)
    with open(tmp_path / "e.mcap", "rb") as stream:
        found = {m.name: m.metadata for m in make_reader(stream).iter_metadata()}
    assert found["observation"] == {
        "action": "float32[6]",
        "image/wrist": "uint8[4, 4, 3]",
        "state/pose": "float32[6]",
    }
    assert found["episode"] == {
        "actor_id": "a",
        "session": bytes(range(16)).hex(),
        "part": "0",
        "complete": "false",
        "reason": "gone",
        "refused": "12,15",
        "next_seq": "16",
    }


def test_a_file_without_our_metadata_ends_with_its_last_record(tmp_path, records, monkeypatch):
    monkeypatch.setattr("mcap.writer.Writer.add_metadata", lambda *_: None)
    write_episode(tmp_path / "whole.mcap", records)
    write_episode(tmp_path / "cut.mcap", records[:-1])
    whole, cut = (read_episode(tmp_path / f"{name}.mcap") for name in ("whole", "cut"))
    assert (whole.session, whole.complete) == (records[-1].session, True)
    assert (cut.session, cut.complete) == (records[-2].session, False)


def test_file_is_what_rosbag2_expects(tmp_path, records):
    write_episode(tmp_path / "e.mcap", records)
    with open(tmp_path / "e.mcap", "rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        assert reader.get_header().profile == "ros2"
    (channel,), (schema,) = summary.channels.values(), summary.schemas.values()
    assert (channel.topic, channel.message_encoding) == ("transitions", "cdr")
    assert (schema.name, schema.encoding) == ("serl_interfaces/msg/Transition", "ros2msg")
    assert summary.statistics.message_count == 10


def test_schema_defines_every_type_it_uses():
    parts = re.split(r"={80}\nMSG: (\S+)\n", schema_text("serl_interfaces/msg/Transition").decode())
    assert set(parts[1::2]) == {
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "serl_interfaces/Observation",
        "serl_interfaces/Tensor",
    }


def test_case09_unfinished_file_is_refused_by_name(tmp_path, records):
    path = tmp_path / "e.mcap"
    write_episode(path, records)
    content = path.read_bytes()
    for size in (0, 8, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(EpisodeError, match=re.escape(str(path))):
            read_episode(path)


def test_flipped_byte_is_refused(tmp_path, records):
    path = tmp_path / "e.mcap"
    write_episode(path, records)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(EpisodeError):
        read_episode(path)


def test_case09_unsealed_file_is_not_listed(tmp_path, records):
    write_episode(tmp_path / "a.mcap", records)
    (tmp_path / ".b.mcap.1.part").write_bytes(b"half")
    store = EpisodeStore(None, tmp_path, read_episode, encode_episode)
    assert [path.name for path, _ in store.episodes()] == ["a.mcap"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda spec: spec | {"state/q": ((7,), "float32")}, "'state/q' is missing; expected"),
        (lambda spec: {"state/pose": spec["state/pose"]}, "'image/wrist'.*not in the layout"),
        (
            lambda spec: spec | {"image/wrist": ((8, 8, 3), "uint8")},
            r"'image/wrist' is \(\(4, 4, 3\), 'uint8'\), not \(\(8, 8, 3\), 'uint8'\)",
        ),
    ],
)
def test_case08_another_layout_is_refused_naming_key_expected_and_found(
    tmp_path, records, change, says
):
    spec = change(spec_of(records[0].observation))
    with pytest.raises(EpisodeError, match=says) as caught:
        check_episode(tmp_path / "e.mcap", as_episode(records), spec, 6)
    assert "e.mcap" in str(caught.value)
