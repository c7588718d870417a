"""One file that is either whole or absent: JSON header, payload and checksum."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

MAGIC = b"SERLFILE"
_HEAD = struct.Struct("<8sIIQ")  # magic, length of header, crc32 of header + payload, of payload


class CorruptFile(ValueError):
    """Not one of our files, or cut short, or altered; the message names the path."""


def write(path: Path, header: dict[str, Any], payload: bytes) -> None:
    """Writes header and payload so that `path` holds the old or the new content, never a part."""
    text = json.dumps(header).encode()
    crc = zlib.crc32(payload, zlib.crc32(text))
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(_HEAD.pack(MAGIC, len(text), crc, len(payload)))
            stream.write(text)
            stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and payload; CorruptFile if they are not what was written."""
    content = path.read_bytes()
    if len(content) < _HEAD.size:
        raise CorruptFile(f"{path}: {len(content)} bytes are too few for a header")
    magic, header_size, crc, payload_size = _HEAD.unpack_from(content)
    if magic != MAGIC:
        raise CorruptFile(f"{path}: begins with {magic!r}, expected {MAGIC!r}")
    expected = _HEAD.size + header_size + payload_size
    if len(content) != expected:
        raise CorruptFile(f"{path}: {len(content)} bytes, expected {expected}")
    body = content[_HEAD.size :]
    if zlib.crc32(body) != crc:
        raise CorruptFile(f"{path}: crc32 {zlib.crc32(body):08x}, expected {crc:08x}")
    return json.loads(body[:header_size]), body[header_size:]


def sync_directory(directory: Path) -> None:
    """Makes a rename in `directory` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
