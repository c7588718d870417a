"""Episodes on disk: one MCAP file each, in the profile that rosbag2 and Foxglove read.

A file is there whole or not at all, so whatever can be listed can be read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rclpy.serialization import deserialize_message, serialize_message

from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.msg import Transition
from serl_learner.episodes import Episode, EpisodeError, stretch
from serl_learner.ros_records import (
    record_from_msg,
    record_to_msg,
    relabel_from_msg,
    relabel_to_msg,
)
from serl_learner.ros_tensors import MalformedMessage
from serl_learner.types import Entry, Record, Relabel, spec_of

COMPRESSIONS = {
    "zstd": CompressionType.ZSTD,
    "lz4": CompressionType.LZ4,
    "none": CompressionType.NONE,
}
"""Of the chunks of a file, by name."""
METADATA = "episode"
"""Name of the metadata that say what the messages do not: parts, refused numbers, the end."""
LAYOUT = "observation"
"""Name of the metadata with what is observed: by key dtype and shape, e.g. "float32[6]"; with that
of the action."""
_KINDS: dict[type, tuple[str, str]] = {
    Record: ("transitions", "serl_interfaces/msg/Transition"),
    Relabel: ("transitions/relabel", "serl_interfaces/msg/Relabel"),
}
MESSAGES: dict[str, tuple[Any, Callable[[Any], Entry]]] = {
    "serl_interfaces/msg/Transition": (Transition, record_from_msg),
    "serl_interfaces/msg/Relabel": (RelabelMessage, relabel_from_msg),
}
"""Types that an episode is made of by name, and how their messages become entries."""
_FIELD = re.compile(r"(?m)^\s*(?:(?P<package>\w+)/)?(?P<name>[A-Z]\w*)(?:\[[^\]]*\])?\s+\w+")


@cache
def schema_text(kind: str) -> bytes:
    """Definitions of a message and of every type it is made of, as rosbag2 writes them."""
    texts = {kind: _definition(kind)}
    waiting = [kind]
    while waiting:
        current = waiting.pop(0)
        for match in _FIELD.finditer(texts[current]):
            package = match["package"] or current.split("/")[0]
            found = f"{package}/msg/{match['name']}"
            if found not in texts:
                texts[found] = _definition(found)
                waiting.append(found)
    parts = [texts.pop(kind)]
    for name, text in texts.items():
        parts.append(f"{'=' * 80}\nMSG: {name.replace('/msg/', '/')}\n{text}")
    return "\n".join(parts).encode()


def _definition(kind: str) -> str:
    package, _, name = kind.split("/")
    path = Path(get_package_share_directory(package)) / "msg" / f"{name}.msg"
    return path.read_text(encoding="utf-8")


def encode_episode(episode: Episode, compression: str = "zstd") -> bytes:
    """The MCAP file of one episode: its entries in order, and metadata `episode`, `observation`.

    The metadata say `actor_id`, `session`, `part`, `complete` ("true" or "false") with the
    `reason`, the sequence numbers that were `refused` ("12,15"), and `next_seq`: every number
    below it is accounted for by this file or an earlier one; and how many before its first were
    `unsent`, if any.
    """
    buffer = io.BytesIO()
    writer = Writer(buffer, compression=COMPRESSIONS[compression])
    writer.start(profile="ros2", library="serl_learner")
    channels: dict[type, int] = {}
    for entry in episode.entries:
        kind = type(entry)
        if kind not in channels:
            channels[kind] = _register(writer, *_KINDS[kind])
        message = record_to_msg(entry) if isinstance(entry, Record) else relabel_to_msg(entry)
        writer.add_message(
            channels[kind],
            log_time=entry.stamp_ns,
            publish_time=entry.stamp_ns,
            data=serialize_message(message),
            sequence=entry.seq % 2**32,
        )
    if episode.records:
        writer.add_metadata(LAYOUT, _layout(episode.records[0]))
    writer.add_metadata(METADATA, _metadata(episode))
    writer.finish()
    return buffer.getvalue()


def _register(writer: Writer, topic: str, kind: str) -> int:
    schema = writer.register_schema(kind, "ros2msg", schema_text(kind))
    return int(writer.register_channel(topic, "cdr", schema, {"offered_qos_profiles": ""}))


def _layout(record: Record) -> dict[str, str]:
    arrays = dict(record.observation)
    if record.action is not None:
        arrays["action"] = record.action
    return {key: f"{dtype}{list(shape)}" for key, (shape, dtype) in spec_of(arrays).items()}


def _metadata(episode: Episode) -> dict[str, str]:
    unsent = {"unsent": str(episode.unsent)} if episode.unsent else {}
    return {
        **unsent,
        "actor_id": episode.actor_id,
        "session": episode.session.hex(),
        "part": str(episode.part),
        "complete": "true" if episode.complete else "false",
        "reason": episode.reason,
        "refused": ",".join(map(str, episode.refused)),
        "next_seq": str(episode.next_seq),
    }


def read_episode(path: Path) -> Episode:
    """The episode of a file; one without our metadata ends with its last record.

    Raises:
      EpisodeError: the file is damaged, unfinished, empty or holds something else; names it.
    """
    try:
        with open(path, "rb") as stream:
            entries, metadata = _read(path, io.BytesIO(stream.read()))
            episode = _episode(entries, metadata)
    except MalformedMessage as error:
        raise EpisodeError(f"{path}: {error}") from error
    except EpisodeError as error:
        raise error if str(path) in str(error) else EpisodeError(f"{path}: {error}") from error
    except Exception as error:  # mcap lets struct, zstd and other errors through on bad bytes
        kind = "damaged" if isinstance(error, McapError) else f"damaged ({type(error).__name__})"
        raise EpisodeError(f"{path} is {kind} or unfinished: {error}") from error
    if episode is None:
        raise EpisodeError(f"{path} holds no record")
    return episode


def _read(path: Path, stream: io.BytesIO) -> tuple[list[Entry], dict[str, str]]:
    entries = []
    reader = make_reader(stream, validate_crcs=True)
    for schema, _, message in reader.iter_messages(log_time_order=False):
        name = schema.name if schema else None
        if name not in MESSAGES:
            raise EpisodeError(f"{path} holds messages of type {name}, expected {[*MESSAGES]}")
        kind, convert = MESSAGES[name]
        entries.append(convert(deserialize_message(message.data, kind)))
    found = {m.name: dict(m.metadata) for m in reader.iter_metadata()}
    return entries, found.get(METADATA, {})


def _require_one(entries: list[Entry]) -> None:
    """Somebody else's bag may hold more. Raises EpisodeError."""
    ends = [isinstance(entry, Record) and entry.last for entry in entries]
    if any(ends[:-1]):
        count = sum(ends) + (not ends[-1])
        raise EpisodeError(
            f"it holds {count} episodes, expected one; ./serl data import takes it apart"
        )


def _episode(entries: list[Entry], metadata: dict[str, str]) -> Episode | None:
    refused = tuple(int(n) for n in metadata.get("refused", "").split(",") if n)
    if not entries and not refused:
        return None
    if not metadata:
        _require_one(entries)
        end = entries[-1]
        broken = isinstance(end, Record) and not end.last
        return stretch(end.actor_id, end.session, entries, reason="unknown" if broken else "")
    return Episode(
        actor_id=metadata["actor_id"],
        session=bytes.fromhex(metadata["session"]),
        entries=tuple(entries),
        refused=refused,
        part=int(metadata["part"]),
        reason=metadata["reason"],
        next_seq=int(metadata["next_seq"]),
        unsent=int(metadata.get("unsent", 0)),
    )
