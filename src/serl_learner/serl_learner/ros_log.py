"""Episodes on disk: one MCAP file each, in the profile that rosbag2 and Foxglove read.

A file is there whole or not at all, so whatever can be listed can be read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.writer import Writer
from rclpy.serialization import deserialize_message, serialize_message

from serl_interfaces.msg import Transition
from serl_learner.atomic_file import write_file
from serl_learner.episodes import EpisodeError
from serl_learner.ros_records import record_from_msg, record_to_msg
from serl_learner.ros_tensors import MalformedMessage
from serl_learner.types import Record

TOPIC = "transitions"
TYPE = "serl_interfaces/msg/Transition"
_FIELD = re.compile(r"(?m)^\s*(?:(?P<package>\w+)/)?(?P<name>[A-Z]\w*)(?:\[[^\]]*\])?\s+\w+")


@cache
def schema_text() -> bytes:
    """Definitions of Transition and of every type it is made of, as rosbag2 writes them."""
    texts = {TYPE: _definition(TYPE)}
    waiting = [TYPE]
    while waiting:
        kind = waiting.pop(0)
        for match in _FIELD.finditer(texts[kind]):
            package = match["package"] or kind.split("/")[0]
            found = f"{package}/msg/{match['name']}"
            if found not in texts:
                texts[found] = _definition(found)
                waiting.append(found)
    parts = [texts.pop(TYPE)]
    for kind, text in texts.items():
        parts.append(f"{'=' * 80}\nMSG: {kind.replace('/msg/', '/')}\n{text}")
    return "\n".join(parts).encode()


def _definition(kind: str) -> str:
    package, _, name = kind.split("/")
    path = Path(get_package_share_directory(package)) / "msg" / f"{name}.msg"
    return path.read_text(encoding="utf-8")


def write_episode(path: Path, records: Sequence[Record]) -> None:
    """Writes the records of one episode; sealed and on disk when this returns."""
    buffer = io.BytesIO()
    writer = Writer(buffer)
    writer.start(profile="ros2", library="serl_learner")
    schema = writer.register_schema(TYPE, "ros2msg", schema_text())
    channel = writer.register_channel(TOPIC, "cdr", schema, {"offered_qos_profiles": ""})
    for record in records:
        writer.add_message(
            channel,
            log_time=record.stamp_ns,
            publish_time=record.stamp_ns,
            data=serialize_message(record_to_msg(record)),
            sequence=record.seq % 2**32,
        )
    writer.finish()
    write_file(path, buffer.getvalue())


def read_episode(path: Path) -> list[Record]:
    """The records of one episode in the order in which they were written.

    Raises:
      EpisodeError: the file is damaged, unfinished, empty or holds something else; names it.
    """
    records = []
    try:
        with open(path, "rb") as stream:
            reader = make_reader(stream, validate_crcs=True)
            for schema, _, message in reader.iter_messages(log_time_order=False):
                name = schema.name if schema else None
                if name != TYPE:
                    raise EpisodeError(f"{path} holds messages of type {name}, expected {TYPE}")
                records.append(record_from_msg(deserialize_message(message.data, Transition)))
    except MalformedMessage as error:
        raise EpisodeError(f"{path}: {error}") from error
    except EpisodeError:
        raise
    except Exception as error:  # mcap lets struct, zstd and other errors through on bad bytes
        kind = "damaged" if isinstance(error, McapError) else f"damaged ({type(error).__name__})"
        raise EpisodeError(f"{path} is {kind} or unfinished: {error}") from error
    if not records:
        raise EpisodeError(f"{path} holds no record")
    return records
