"""Episodes on disk: whole or absent, readable by any MCAP reader."""

import re

import numpy as np
import pytest
from mcap.reader import make_reader
from test_ros_records import assert_same, random_record

from serl_learner.episodes import EpisodeError, EpisodeStore, check_episode
from serl_learner.ros_log import read_episode, schema_text, write_episode
from serl_learner.types import spec_of


@pytest.fixture
def records():
    rng = np.random.default_rng(5)
    return [random_record(rng, last=i == 9) for i in range(10)]


def test_round_trip_keeps_order_and_every_field(tmp_path, records):
    write_episode(tmp_path / "e.mcap", records)
    found = read_episode(tmp_path / "e.mcap")
    assert len(found) == len(records)
    for a, b in zip(found, records, strict=True):
        assert_same(a, b)


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
    parts = re.split(r"={80}\nMSG: (\S+)\n", schema_text().decode())
    assert set(parts[1::2]) == {
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "serl_interfaces/Observation",
        "serl_interfaces/Tensor",
    }


def test_c09_unfinished_file_is_refused_by_name(tmp_path, records):
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


def test_c09_unsealed_file_is_not_listed(tmp_path, records):
    write_episode(tmp_path / "a.mcap", records)
    (tmp_path / ".b.mcap.1.part").write_bytes(b"half")
    store = EpisodeStore(None, tmp_path, read_episode, write_episode)
    assert [path.name for path, _ in store.logged()] == ["a.mcap"]


def test_failed_write_leaves_nothing(tmp_path, records):
    records[3].extras["bad"] = np.zeros(1, complex)
    with pytest.raises(ValueError, match="complex128"):
        write_episode(tmp_path / "a.mcap", records)
    assert list(tmp_path.iterdir()) == []


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
def test_c08_another_layout_is_refused_naming_key_expected_and_found(
    tmp_path, records, change, says
):
    spec = change(spec_of(records[0].observation))
    with pytest.raises(EpisodeError, match=says) as caught:
        check_episode(tmp_path / "e.mcap", records, spec, 6)
    assert "e.mcap" in str(caught.value)
