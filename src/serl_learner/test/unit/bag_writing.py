"""Episodes of records, and bags of them as `ros2 bag record` writes them: by another library."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from mcap.writer import CompressionType, Writer
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import CompressionFormat, StoragePlugin
from rosbags.rosbag2 import Writer as BagWriter
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from serl_learner.data.recording import Recording
from serl_learner.ros_bag import read_recordings
from serl_learner.ros_log import schema_text
from serl_learner.ros_records import record_to_msg, relabel_to_msg
from serl_learner.types import Record, Source

TRANSITION, RELABEL = (f"serl_interfaces/msg/{name}" for name in ("Transition", "Relabel"))
SESSION = bytes(range(16))
PERIOD = 100_000_000  # between two records [ns]


def episode_records(
    number: int = 0, first_seq: int = 0, steps: int = 6, success: bool = True, **fields
) -> list[Record]:
    """A demonstration with two keys, random for its number."""
    rng = np.random.default_rng(number)
    made = []
    for step in range(steps + 1):
        last, end = step == steps, step == steps - 1 and success
        record = Record(
            session=SESSION,
            seq=first_seq + step,
            episode=number,
            step=step,
            observation={
                "image/wrist": rng.integers(0, 256, (8, 8, 3), np.uint8),
                "state/pose": rng.normal(size=6).astype(np.float32),
            },
            action=None if last else rng.uniform(-0.9, 0.9, 6).astype(np.float32),
            reward=float(end),
            terminated=end,
            last=last,
            success=last and success,
            source=Source.DEMO,
            stamp_ns=(first_seq + step + 1) * PERIOD,
        )
        made.append(replace(record, **fields))
    return made


def episodes(count: int = 3, **fields) -> list[Record]:
    """Several in a row, each with its numbers."""
    made: list[Record] = []
    for number in range(count):
        made += episode_records(number, len(made), steps=5 + number, **fields)
    return made


def raw(entry) -> tuple[str, bytes, int]:
    """Type, bytes and time of its message."""
    kind, convert = (
        (TRANSITION, record_to_msg) if isinstance(entry, Record) else (RELABEL, relabel_to_msg)
    )
    return kind, serialize_message(convert(entry)), entry.stamp_ns


def write_bag(path: Path, entries, plugin="mcap", namespace="", compression=None) -> Path:
    """A bag directory with metadata.yaml, by the library rosbags."""
    store = get_typestore(Stores.EMPTY)
    for kind in (TRANSITION, RELABEL):
        store.register(get_types_from_msg(schema_text(kind).decode(), kind))
    storage = StoragePlugin.MCAP if plugin == "mcap" else StoragePlugin.SQLITE3
    writer = BagWriter(path, version=9, storage_plugin=storage)
    if compression is not None:
        writer.set_compression(compression, CompressionFormat.ZSTD)
    topics = {TRANSITION: "transitions", RELABEL: "transitions/relabel"}
    with writer:
        connections = {
            kind: writer.add_connection(f"{namespace}/{topic}", kind, typestore=store)
            for kind, topic in topics.items()
        }
        for entry in entries:
            kind, data, stamp = raw(entry)
            writer.write(connections[kind], stamp, data)
    return path


def write_mcap(path: Path, entries, compression=CompressionType.ZSTD, chunk_size=2**20) -> Path:
    """One MCAP file without metadata of its own, as rosbag2 writes it."""
    with open(path, "wb") as stream:
        writer = Writer(stream, compression=compression, chunk_size=chunk_size)
        writer.start(profile="ros2", library="somebody else")
        channels = {}
        for entry in entries:
            kind, data, stamp = raw(entry)
            if kind not in channels:
                schema = writer.register_schema(kind, "ros2msg", schema_text(kind))
                channels[kind] = writer.register_channel("/robot/transitions", "cdr", schema)
            writer.add_message(channels[kind], stamp, data, stamp)
        writer.finish()
    return path


def read(path: Path) -> Recording:
    """The one recording that is there."""
    (recording,) = read_recordings([path])
    return recording


def texts(recording: Recording) -> list[str]:
    """All findings as `level: text`."""
    found = [*recording.findings, *(f for e in recording.episodes for f in e.findings)]
    return [f"{finding.level.value}: {finding.text}" for finding in found]


def cut(path: Path, size: int) -> Path:
    """The file as a killed recorder leaves it: the first `size` bytes, and no metadata.yaml."""
    target = path.with_name(f"cut-{path.name}")
    shutil.copyfile(path, target)
    with open(target, "r+b") as stream:
        stream.truncate(size)
    return target
