"""Messages in the files that `ros2 bag record` and the learner's log write, as they lie there."""

from __future__ import annotations

import io
import mmap
import re
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

import zstandard
from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Footer, Message, Schema
from mcap.stream_reader import StreamReader

COMPRESSED = ".zstd"
"""Ending of a file that rosbag2 compressed as a whole."""
SUFFIXES = (".mcap", ".db3", f".mcap{COMPRESSED}", f".db3{COMPRESSED}")
_ZSTD = b"\x28\xb5\x2f\xfd"
_MAGIC = b"\x89MCAP0\r\n"
_RECORD = struct.Struct("<BQ")  # what a record begins with: what it is, and its length


class BagError(ValueError):
    """A file that holds no bag, or one that is damaged; names it."""


class RawMessage(NamedTuple):
    """A serialised message: the name of its type, the text that defines that where the file holds
    it, and its CDR bytes."""

    kind: str
    definition: str
    data: bytes


@dataclass
class RawBag:
    """What is known of a file once its messages have been read.

    Attributes:
      path: of the file.
      truncated: it ends in the middle: whoever wrote it was killed.
      others: types of messages that were passed over, with their count.
    """

    path: Path
    truncated: bool = False
    others: dict[str, int] = field(default_factory=dict)


def bag_files(path: Path) -> list[Path]:
    """The bag files that a path names: itself, or those below a directory, in natural order.

    Raises:
      BagError: there is nothing, or no bag.
    """
    if not path.exists():
        raise BagError(f"{path}: there is no such file or directory")
    found = [path] if path.is_file() else sorted(path.rglob("*"), key=_natural)
    found = [p for p in found if p.name.endswith(SUFFIXES) and not p.name.startswith(".")]
    if not found:
        raise BagError(f"{path} holds no bag: no file ends in {', '.join(SUFFIXES)}")
    return found


def _natural(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def read_messages(bag: RawBag, kinds: frozenset[str]) -> Iterator[RawMessage]:
    """All messages of these types in the order of the file; fills in `bag` on the way.

    Raises:
      BagError: the file is damaged, or no bag.
    """
    try:
        with _opened(bag.path) as (path, ending):
            yield from (_read_mcap if ending == ".mcap" else _read_sqlite)(path, bag, kinds)
    except BagError:
        raise
    except (sqlite3.Error, zstandard.ZstdError, ValueError, RuntimeError, EOFError) as error:
        raise BagError(f"{bag.path} is damaged: {error}") from error
    except Exception as error:  # mcap lets struct, lz4 and other errors through on bad bytes
        raise BagError(f"{bag.path} is damaged ({type(error).__name__}): {error}") from error


def read_metadata(path: Path, name: str) -> dict[str, str] | None:
    """One metadata record of a finished MCAP file; None if there is none, or the file is none."""
    if path.suffix != ".mcap":
        return None
    try:
        with open(path, "rb") as stream:
            found = make_reader(stream).iter_metadata()
            return next((dict(m.metadata) for m in found if m.name == name), None)
    except Exception:  # whoever reads the messages says what is wrong with it
        return None


def lacks(path: Path, kind: str) -> bool:
    """A finished MCAP file says at its end that it holds no message of this type."""
    if path.suffix != ".mcap":
        return False
    try:
        with open(path, "rb") as stream:
            summary = make_reader(stream).get_summary()
    except Exception:  # whoever reads the messages says what is wrong with it
        return False
    if summary is None or not summary.schemas:
        return False
    return all(schema.name != kind for schema in summary.schemas.values())


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Path, str]]:
    """The file without the compression of all of it, and its ending."""
    if path.suffix != COMPRESSED:
        yield path, path.suffix
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        with open(path, "rb") as source, open(plain, "wb") as sink:
            zstandard.ZstdDecompressor().copy_stream(source, sink)
        yield plain, plain.suffix


def _read_mcap(path: Path, bag: RawBag, kinds: frozenset[str]) -> Iterator[RawMessage]:
    """Reads from the beginning, so that what a killed recorder left is found, too."""
    with open(path, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            empty = stream.tell() == 0
            raise BagError(f"{bag.path} is {'empty' if empty else 'no MCAP file'}")
        end = _end_of_records(stream)
        with mmap.mmap(stream.fileno(), end, access=mmap.ACCESS_READ) as whole:
            yield from _read_records(whole, bag, kinds)


def _end_of_records(stream: IO[bytes]) -> int:
    """Where the last record ends that is whole."""
    size, end = stream.seek(0, io.SEEK_END), len(_MAGIC)
    while end + _RECORD.size <= size:
        stream.seek(end)
        opcode, length = _RECORD.unpack(stream.read(_RECORD.size))
        if end + _RECORD.size + length > size:
            return end
        end += _RECORD.size + length
        if opcode == Opcode.FOOTER:
            return size
    return end


def _read_records(stream: mmap.mmap, bag: RawBag, kinds: frozenset[str]) -> Iterator[RawMessage]:
    schemas: dict[int, tuple[str, str]] = {0: ("", "")}
    channels: dict[int, Channel] = {}
    bag.truncated = True
    try:
        reader = StreamReader(stream, validate_crcs=True)  # type: ignore[arg-type]
        for record in reader.records:
            if isinstance(record, Schema):
                schemas[record.id] = record.name, record.data.decode("utf-8", "replace")
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                kind, definition = schemas[channels[record.channel_id].schema_id]
                if kind in kinds:
                    yield RawMessage(kind, definition, record.data)
                else:
                    bag.others[kind] = bag.others.get(kind, 0) + 1
            bag.truncated = not isinstance(record, Footer)
    except EndOfFile:
        if stream.tell() < len(stream):  # within a record: its content is damaged
            raise


def _read_sqlite(path: Path, bag: RawBag, kinds: frozenset[str]) -> Iterator[RawMessage]:
    decompressor = zstandard.ZstdDecompressor()
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        kind_of = dict(database.execute("SELECT id, type FROM topics"))
        definitions = dict(_definitions(database))
        query = "SELECT topic_id, data FROM messages ORDER BY timestamp, id"
        for number, data in database.execute(query):
            kind = kind_of[number]
            if kind not in kinds:
                bag.others[kind] = bag.others.get(kind, 0) + 1
                continue
            if data[:4] == _ZSTD:  # rosbag2 compressed each message
                data = decompressor.decompressobj().decompress(data)
            yield RawMessage(kind, definitions.get(kind, ""), bytes(data))


def _definitions(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    found = database.execute("SELECT name FROM sqlite_master WHERE name = 'message_definitions'")
    if found.fetchone():
        query = "SELECT topic_type, encoded_message_definition FROM message_definitions"
        yield from database.execute(query)
