"""metadata.yaml: what makes a directory of episodes a bag for `ros2 bag info` and `play`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mcap.reader import make_reader

from serl_learner.atomic_file import write_file

INDEX = "metadata.yaml"
_VERSION = 9  # of the file, as rosbag2 of ROS 2 Jazzy writes it
_DISTRO = "jazzy"


@dataclass(frozen=True)
class _File:
    name: str
    start_ns: int
    end_ns: int
    topics: dict[tuple[str, str], int]  # messages by topic and type


def write_index(directory: Path) -> None:
    """Writes it anew for the MCAP files that lie there; without any there is none.

    A file that is no MCAP file, or an unfinished one, is left out. A single file is a bag without
    it, too.
    """
    paths = sorted(p for p in directory.glob("*.mcap") if not p.name.startswith("."))
    files = [file for path in paths if (file := _look(path)) is not None]
    if files:
        content = {"rosbag2_bagfile_information": _describe(files)}
        text = yaml.safe_dump(content, sort_keys=False)
        write_file(directory / INDEX, text.encode())
    else:
        (directory / INDEX).unlink(missing_ok=True)


def _look(path: Path) -> _File | None:
    try:
        with open(path, "rb") as stream:
            summary = make_reader(stream).get_summary()
    except Exception:  # damaged: mcap lets errors of many kinds through
        return None
    if summary is None or summary.statistics is None or not summary.statistics.message_count:
        return None
    topics: dict[tuple[str, str], int] = {}
    for number, count in summary.statistics.channel_message_counts.items():
        channel = summary.channels[number]
        kind = summary.schemas[channel.schema_id].name
        topics[channel.topic, kind] = topics.get((channel.topic, kind), 0) + count
    start, end = summary.statistics.message_start_time, summary.statistics.message_end_time
    return _File(path.name, start, end, topics)


def _describe(files: list[_File]) -> dict[str, Any]:
    start, end = min(file.start_ns for file in files), max(file.end_ns for file in files)
    topics: dict[tuple[str, str], int] = {}
    for file in files:
        for topic, count in file.topics.items():
            topics[topic] = topics.get(topic, 0) + count
    return {
        "version": _VERSION,
        "storage_identifier": "mcap",
        "duration": {"nanoseconds": end - start},
        "starting_time": {"nanoseconds_since_epoch": start},
        "message_count": sum(topics.values()),
        "topics_with_message_count": [
            {"topic_metadata": _topic(*topic), "message_count": count}
            for topic, count in sorted(topics.items())
        ],
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [file.name for file in files],
        "files": [_describe_file(file) for file in files],
        "custom_data": {},
        "ros_distro": _DISTRO,
    }


def _topic(name: str, kind: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "serialization_format": "cdr",
        "offered_qos_profiles": [],
        "type_description_hash": "",
    }


def _describe_file(file: _File) -> dict[str, Any]:
    return {
        "path": file.name,
        "starting_time": {"nanoseconds_since_epoch": file.start_ns},
        "duration": {"nanoseconds": file.end_ns - file.start_ns},
        "message_count": sum(file.topics.values()),
    }
