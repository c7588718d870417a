"""Features of logged frames on disk, a file for each of the log's: a restart need not encode.

A cache and nothing more: a file that is missing, damaged, or of another encoder is made again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from serl_learner.atomic_file import remove_unfinished
from serl_learner.disk_space import DiskSpace, NoSpace
from serl_learner.frame_ring import Frame, FrameLayout
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.trunk import Trunk

SUFFIX = ".features"
VERSION = 1
"""Of how features are made and written; another one is another encoder."""
_MAGIC = b"serl-features\n"
_SHAPING = ("crops", "pad", "colour_jitter", "stack")

Frames = Mapping[int, Frame]
"""By sequence number of the record."""


def features_key(trunk: Trunk, config: EncoderConfig, layout: FrameLayout) -> str:
    """Hash of all that features depend on beside the record."""
    choices = [getattr(config, name) for name in _SHAPING]
    described = [VERSION, trunk.name, trunk.weights_hash, choices, sorted(layout.spec.items())]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


class FeatureFiles:
    """Files in one directory, called after the episode's; for one encoder."""

    def __init__(self, directory: Path, key: str, layout: FrameLayout, space: DiskSpace) -> None:
        self._directory = directory
        self._key = key
        self._layout = layout
        self._space = space

    def read(self, episode: Path, session: bytes) -> Frames:
        """The features of an episode's records; of a file that cannot be used, none."""
        try:
            content = self._path(episode).read_bytes()
        except OSError:
            return {}
        if not content.startswith(_MAGIC):
            return {}
        line, _, data = content[len(_MAGIC) :].partition(b"\n")
        try:
            header = json.loads(line)
            numbers = [int(number) for number in header["seq"]]
            size = len(numbers) * self._layout.frame_bytes
            fits = len(data) == size and header == self._header(session, numbers, data)
        except (ValueError, TypeError, KeyError):
            return {}
        return self._unpack(numbers, data) if fits else {}

    def write(self, episode: Path, session: bytes, frames: Frames) -> None:
        """Keeps the features of an episode's records; leaves it on a full disk."""
        numbers = sorted(frames)
        if not numbers:
            return
        names = sorted(self._layout.spec)
        arrays = [np.stack([frames[number][name] for number in numbers]) for name in names]
        data = b"".join(array.tobytes() for array in arrays)
        header = json.dumps(self._header(session, numbers, data)).encode()
        try:
            self._space.write(self._path(episode), _MAGIC + header + b"\n" + data)
        except NoSpace:
            return

    def remove(self, episode: Path) -> None:
        """With its episode."""
        self._path(episode).unlink(missing_ok=True)

    def keep_only(self, episodes: Iterable[Path]) -> None:
        """Removes those of no such episode, and what kills left of unfinished ones."""
        if not self._directory.is_dir():
            return
        remove_unfinished(self._directory)
        kept = {self._path(episode) for episode in episodes}
        for path in self._directory.glob(f"*{SUFFIX}"):
            if path not in kept:
                path.unlink(missing_ok=True)

    def _path(self, episode: Path) -> Path:
        return self._directory / (episode.stem + SUFFIX)

    def _header(self, session: bytes, numbers: list[int], data: bytes) -> dict[str, Any]:
        return {
            "key": self._key,
            "session": session.hex(),
            "seq": numbers,
            "crc32": zlib.crc32(data),
        }

    def _unpack(self, numbers: list[int], data: bytes) -> Frames:
        arrays, used = {}, 0
        for name, (shape, dtype) in sorted(self._layout.spec.items()):
            count = len(numbers) * int(np.prod(shape))
            array = np.frombuffer(data, np.dtype(dtype), count, used)
            arrays[name] = array.reshape(len(numbers), *shape)
            used += array.nbytes
        return {n: {k: array[i] for k, array in arrays.items()} for i, n in enumerate(numbers)}
