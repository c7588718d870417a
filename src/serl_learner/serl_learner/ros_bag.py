"""Recordings of `transitions` and `transitions/relabel`, by `ros2 bag record` or by the learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from rclpy.serialization import deserialize_message

from serl_learner.data.bag_file import (
    BagError,
    RawBag,
    bag_files,
    lacks,
    read_messages,
    read_metadata,
)
from serl_learner.data.definitions import difference
from serl_learner.data.recording import (
    Finding,
    Level,
    RecordedEpisode,
    Recording,
    Spoiled,
    assemble,
    judged,
)
from serl_learner.episodes import EpisodeError
from serl_learner.ros_log import MESSAGES, METADATA, read_episode, schema_text
from serl_learner.ros_tensors import MalformedMessage
from serl_learner.types import Entry, Relabel

RELABEL = "serl_interfaces/msg/Relabel"


def read_recordings(paths: Iterable[Path]) -> Iterator[Recording]:
    """What the bags hold that these paths name: files, or directories of any depth.

    Each file of a log is a recording of its own; other files that lie in one directory are one
    together, as rosbag2 begins a new file when one grows large. Records have the late verdicts
    over them that are in any of the bags: the log keeps a veto in a later file than the success.

    Raises:
      BagError: there is no bag at a path.
    """
    found = [bag_files(path) for path in paths]
    verdicts = _verdicts({file for files in found for file in files})
    for all_files in found:
        bags: dict[Path, list[Path]] = {}
        for file in all_files:
            if read_metadata(file, METADATA) is not None:
                yield _judged(_sealed(file), verdicts)
            else:
                bags.setdefault(file.parent, []).append(file)
        for directory, files in bags.items():
            source = files[0] if len(files) == 1 else directory
            yield _judged(_recorded(source, files), verdicts)


def _verdicts(files: Iterable[Path]) -> list[Relabel]:
    """All relabels in these files, each once; what cannot be read is found when they are read."""
    found: dict[tuple[bytes, int], Relabel] = {}
    for file in files:
        if lacks(file, RELABEL):
            continue
        try:
            for raw in read_messages(RawBag(file), frozenset({RELABEL})):
                entry = None if _other_definition(*raw[:2]) else _decode(raw.kind, raw.data)
                if isinstance(entry, Relabel):
                    found[entry.session, entry.seq] = entry
        except BagError:
            continue
    return list(found.values())


def _judged(recording: Recording, verdicts: list[Relabel]) -> Recording:
    recording.episodes = [
        replace(recorded, episode=judged(recorded.episode, verdicts))
        for recorded in recording.episodes
    ]
    return recording


def _sealed(path: Path) -> Recording:
    """A file of the learner's log."""
    recording = Recording(str(path))
    try:
        episode = read_episode(path)
    except EpisodeError as error:
        recording.findings.append(Finding(Level.UNUSABLE, str(error)))
        return recording
    findings = []
    if not episode.complete:
        findings.append(Finding(Level.INCOMPLETE, f"it was broken off: {episode.reason}"))
    elif episode.part:
        findings.append(Finding(Level.INCOMPLETE, "it is the rest of one that was broken off"))
    if episode.refused:
        refused = ", ".join(map(str, episode.refused))
        findings.append(Finding(Level.NOTE, f"records {refused} were refused by the learner"))
    if episode.records:
        recording.episodes.append(RecordedEpisode(str(path), episode, tuple(findings)))
    return recording


def _recorded(source: Path, files: list[Path]) -> Recording:
    """What somebody else recorded, in these files."""
    findings: list[Finding] = []
    found: list[Entry | Spoiled] = []
    others: Counter[str] = Counter()
    for file in files:
        bag = RawBag(file)
        try:
            for raw in read_messages(bag, frozenset(MESSAGES)):
                if text := _other_definition(raw.kind, raw.definition):
                    raise BagError(text)
                found.append(_decode(raw.kind, raw.data))
        except BagError as error:
            text = str(error) if str(file) in str(error) else f"{file}: {error}"
            findings.append(Finding(Level.UNUSABLE, text))
        else:
            if bag.truncated:
                text = f"{file} ends in the middle: it was cut off; what comes before is read"
                findings.append(Finding(Level.NOTE, text))
        others.update(bag.others)
    if not found and not findings:
        text = f"{source} holds no message of {', '.join(MESSAGES)}; of others: {dict(others)}"
        findings.append(Finding(Level.UNUSABLE, text))
    recording = assemble(str(source), found)
    recording.findings += findings
    return recording


@cache
def _other_definition(kind: str, definition: str) -> str:
    """Why messages of this type cannot be read, if the file defines it otherwise."""
    other = difference(definition, schema_text(kind).decode()) if definition else ""
    return f"recorded with another definition of {kind}: {other} differs" if other else ""


def _decode(kind: str, data: bytes) -> Entry | Spoiled:
    """An entry; one that may not be used, with why.

    Raises:
      BagError: the bytes are no such message.
    """
    message_type, convert = MESSAGES[kind]
    try:
        message = deserialize_message(data, message_type)
    except Exception as error:  # what the middleware raises on bad bytes
        raise BagError(f"{len(data)} bytes are no {kind}: {error}") from error
    try:
        return convert(message)
    except MalformedMessage as error:
        episode = None if kind == RELABEL else int(message.episode)
        session = bytes(message.session)
        return Spoiled(message.actor_id, session, int(message.seq), episode, str(error))
