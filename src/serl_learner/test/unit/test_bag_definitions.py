"""Messages are read only if their file defines them as we do; others are named with the file."""

from __future__ import annotations

import pytest
from bag_writing import (
    RELABEL,
    SESSION,
    TRANSITION,
    episode_records,
    episodes,
    raw,
    read,
    texts,
    write_mcap,
)
from mcap.writer import Writer

from serl_learner.ros_log import schema_text
from serl_learner.types import Relabel


def test_a_message_of_another_definition_is_refused(tmp_path, monkeypatch):
    schema = "uint8 POLICY=0\nstd_msgs/Header header\nfloat32[] action\n"
    monkeypatch.setattr("bag_writing.schema_text", lambda kind: schema.encode())
    recording = read(write_mcap(tmp_path / "a.mcap", episodes(1)))
    assert "recorded with another definition of serl_interfaces/msg/Transition" in str(
        texts(recording)
    )
    assert not recording.episodes


def write_defined(path, entries, others):
    """Each message with a schema of its own; of those in `others`, by id, it is another one's."""
    with open(path, "wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2")
        channels = []
        for entry in entries:
            kind = raw(entry)[0]
            text = b"uint64 seq" if id(entry) in others else schema_text(kind)
            schema = writer.register_schema(kind, "ros2msg", text)
            channels.append(writer.register_channel("/transitions", "cdr", schema))
        for channel, entry in zip(channels, entries, strict=True):
            _, data, stamp = raw(entry)
            writer.add_message(channel, stamp, data, stamp)
        writer.finish()


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (slice(0, 1), TRANSITION),
        (slice(3, 4), TRANSITION),
        (slice(-1, None), RELABEL),
    ],
)
def test_every_definition_of_every_file_is_looked_at(tmp_path, other, kind):
    write_mcap(tmp_path / "bag_0.mcap", episode_records(0, 0))
    entries = [*episode_records(1, 7), Relabel(SESSION, 14, 12, 12, 0.5, False, stamp_ns=1)]
    write_defined(tmp_path / "bag_1.mcap", entries, [id(e) for e in entries[other]])
    recording = read(tmp_path)
    (text,) = [finding.text for finding in recording.findings]
    assert f"bag_1.mcap: recorded with another definition of {kind}" in text


def test_bytes_that_are_no_message_are_named_with_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr("bag_writing.raw", lambda record: (TRANSITION, b"\0\1\0\0", 1))
    (text, *_) = texts(read(write_mcap(tmp_path / "a.mcap", episode_records())))
    assert "a.mcap: 4 bytes are no serl_interfaces/msg/Transition" in text
