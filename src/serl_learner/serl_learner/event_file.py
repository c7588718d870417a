"""An event file of TensorBoard: scalars by step, written so that a full disk spoils nothing."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

_PREFIX = "events.out.tfevents."
_VERSION = "brain.Event:2"


class EventFile:
    """One new file in `directory`, unbuffered: what is written is there for readers at once.

    A write that fails leaves the file as it was before.
    """

    def __init__(self, directory: Path, wall_time: float, step: int) -> None:
        """Creates the file, and the directory; the first scalars come at `step`.

        Raises OSError; then there is no file.
        """
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / _next_name(directory)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._size = 0
        try:
            self._append(Event(wall_time=wall_time, file_version=_VERSION))
            self.restart(wall_time, step)
        except OSError:
            self.close()
            path.unlink()
            raise

    def restart(self, wall_time: float, step: int) -> None:
        """The steps go on at `step`: readers drop what they have from there on.

        Raises OSError.
        """
        log = SessionLog(status=SessionLog.START)
        self._append(Event(wall_time=wall_time, step=step, session_log=log))

    def scalars(self, wall_time: float, step: int, values: Mapping[str, float]) -> None:
        """Values by tag at `step`; wall_time since the epoch [s]. Raises OSError."""
        summary = Summary()
        for tag, value in values.items():
            summary.value.add(tag=tag, simple_value=value)
        self._append(Event(wall_time=wall_time, step=step, summary=summary))

    def close(self) -> None:
        """Nothing more is written."""
        os.close(self._file)

    def _append(self, event: Event) -> None:
        """One record: length, its checksum, the event, its checksum (little-endian)."""
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        sums = [struct.pack("<I", masked_crc32c(part)) for part in (length, data)]
        record = length + sums[0] + data + sums[1]
        written = 0
        try:
            while written < len(record):
                written += os.write(self._file, record[written:])
        except OSError:
            # Readers stop for good at half a record, and take one that is completed later.
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(record)


def _next_name(directory: Path) -> str:
    """A name that comes after all others there: readers take the files in the order of names."""
    names = [path.name.removeprefix(_PREFIX) for path in directory.glob(f"{_PREFIX}*")]
    stamps = [name.split(".")[0] for name in names]
    newest = max((int(stamp) for stamp in stamps if stamp.isdigit()), default=0)
    seconds = max(int(time.time()), newest + 1)
    return f"{_PREFIX}{seconds:010d}.{socket.gethostname()}.{os.getpid()}"
