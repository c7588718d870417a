"""The videos of a LeRobot data set: one stream for each camera, a new file when one grows large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from serl_sim.video_file import VideoFile

VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
FRAMES = 36_000
"""After which the next episode begins a new file: an hour at 10 Hz, far below LeRobot's 200 MB."""
_OPTIONS = {"g": "2", "bf": "0", "crf": "18"}
"""A key frame every other frame, as LeRobot has it: whoever trains asks for single frames."""


@dataclass
class _Stream:
    folder: Path
    width: int
    height: int
    index: int = -1
    frames: int = FRAMES
    file: VideoFile | None = None


class Videos:
    """Takes the pictures of episode after episode; a context: files are complete when it ends."""

    def __init__(self, out: Path, shapes: Mapping[str, tuple[int, ...]], fps: int) -> None:
        """`shapes` are [H, W, 3] by feature.

        Raises:
          ValueError: a picture has an odd height or width, which H.264 cannot hold.
        """
        self._fps = fps
        self._streams: dict[str, _Stream] = {}
        for feature, (height, width, _) in shapes.items():
            if height % 2 or width % 2:
                raise ValueError(
                    f"{feature}: pictures of {height} x {width} pixels; H.264 needs even sizes"
                )
            name = VIDEO_PATH.format(video_key=feature, chunk_index=0, file_index=0)
            self._streams[feature] = _Stream((out / name).parent, width, height)

    def __enter__(self) -> Videos:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for stream in self._streams.values():
            self._close(stream, discard=kind is not None)

    def begin(self, feature: str) -> dict[str, Any]:
        """An episode begins: the columns that say where."""
        stream = self._streams[feature]
        if stream.frames >= FRAMES:
            self._close(stream)
            stream.index, stream.frames = stream.index + 1, 0
            size = (stream.width, stream.height)
            name = f"file-{stream.index:03d}"
            stream.file = VideoFile(stream.folder, name, *size, self._fps, _OPTIONS)
        return {
            f"videos/{feature}/chunk_index": 0,
            f"videos/{feature}/file_index": stream.index,
            f"videos/{feature}/from_timestamp": stream.frames / self._fps,
        }

    def write(self, feature: str, picture: np.ndarray) -> None:
        """The next picture, uint8 [H, W, 3]. Raises OSError."""
        stream = self._streams[feature]
        assert stream.file is not None
        stream.file.write(np.ascontiguousarray(picture))
        stream.frames += 1

    def end(self, feature: str) -> dict[str, Any]:
        """The episode ends: the column that says where."""
        stream = self._streams[feature]
        return {f"videos/{feature}/to_timestamp": stream.frames / self._fps}

    def _close(self, stream: _Stream, discard: bool = False) -> None:
        if stream.file is not None and discard:
            stream.file.discard()
        elif stream.file is not None:
            stream.file.finish(f"file-{stream.index:03d}.mp4")
        stream.file = None
