"""Files that are there whole or not at all, whenever the process is killed."""

from __future__ import annotations

import os
import time
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Replaces `path` by `content`; on disk when this returns."""
    temporary = temporary_path(path)
    try:
        with open(temporary, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        publish_file(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_path(path: Path) -> Path:
    """Where to write what shall become `path`; makes the directory if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def remove_unfinished(directory: Path, older_than: float = 0.0) -> None:
    """Removes what kills in the middle of a write left, if it is older than this [s].

    0 is for a directory that nobody else writes to.
    """
    latest = time.time() - older_than
    for path in directory.glob(".*.part"):
        try:
            if not older_than or path.stat().st_mtime < latest:
                path.unlink()
        except FileNotFoundError:
            continue  # it has its name by now


def publish_file(temporary: Path, path: Path) -> None:
    """Gives a finished, flushed file its name, and waits until the directory is on disk."""
    os.replace(temporary, path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
