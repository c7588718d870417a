"""What the actor itself recorded, line by line: a witness for audits of the learner's log."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import numpy as np

from serl_learner.types import Entry, Observation, Record


def observation_crc32(observation: Observation) -> int:
    """Checksum over names, dtypes, shapes and bytes of all arrays, in the order of the names."""
    crc = 0
    for name, array in sorted(observation.items()):
        crc = zlib.crc32(f"{name} {array.dtype.name} {list(array.shape)}\n".encode(), crc)
        crc = zlib.crc32(array.tobytes(), crc)
    return crc


def describe(entry: Entry) -> dict[str, object]:
    """An entry as JSON has it; `action_crc32` is of its float32 bytes, absent without an action."""
    line: dict[str, object] = {"session": entry.session.hex(), "seq": entry.seq}
    if not isinstance(entry, Record):
        return line | {
            "kind": "relabel",
            "first_seq": entry.first_seq,
            "last_seq": entry.last_seq,
            "reward": float(np.float32(entry.reward)),
            "terminated": bool(entry.terminated),
        }
    line |= {
        "kind": "record",
        "episode": entry.episode,
        "step": entry.step,
        "reward": float(np.float32(entry.reward)),
        "terminated": bool(entry.terminated),
        "truncated": bool(entry.truncated),
        "last": bool(entry.last),
        "success": bool(entry.success),
        "aborted": bool(entry.aborted),
        "source": entry.source.name,
        "policy_version": int(entry.policy_version),
        "observation_crc32": observation_crc32(entry.observation),
    }
    if entry.action is not None:
        line["action_crc32"] = zlib.crc32(np.asarray(entry.action, np.float32).tobytes())
    return line


LINE = 512
"""Room for one entry [byte]; most take less."""


class Journal:
    """JSON lines, appended; each is with the kernel when `write` returns.

    Killed at any moment, at most its last line is not whole, and what follows begins a new one.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._append(b"\n")

    def write(self, entry: Entry) -> None:
        """One more line; OSError if it cannot be written: the file is as before then."""
        self._append(json.dumps(describe(entry)).encode() + b"\n")

    def require(self, count: int) -> None:
        """Raises OSError unless about `count` more entries can be written now.

        Tried with empty lines, which are taken back.
        """
        size = os.fstat(self._descriptor).st_size
        self._append(b"\n" * (count * LINE))
        os.ftruncate(self._descriptor, size)

    def _append(self, line: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        written = 0
        try:
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise OSError(error.errno, error.strerror, str(self._path)) from error
