"""One MP4 (H.264) that browsers play; it has its name only once it is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import av
import numpy as np

PART = ".part"
"""End of the name of a file that is being written."""

_OPTIONS = {"preset": "veryfast", "crf": "20", "threads": "1"}


class VideoFile:
    """Takes frames, one after the other."""

    def __init__(
        self,
        folder: Path,
        name: str,
        width: int,
        height: int,
        fps: int,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Begins `folder/name.part`.

        Args:
          width, height: of every frame, even [pixels].
          fps: frames per second of playing.
          options: of the encoder, over those of a film.

        Raises OSError, as all methods do; the file is gone then.
        """
        self._path = folder / f"{name}{PART}"
        with self._or_nothing():
            folder.mkdir(parents=True, exist_ok=True)
            # With the index in front, a browser plays before it has everything.
            self._file = av.open(
                str(self._path), "w", format="mp4", options={"movflags": "+faststart"}
            )
            encoding = {**_OPTIONS, **(options or {})}
            self._stream = self._file.add_stream("libx264", rate=fps, options=encoding)
            self._stream.width, self._stream.height = width, height
            self._stream.pix_fmt = "yuv420p"

    def write(self, frame: np.ndarray) -> None:
        """Appends one frame: RGB, uint8 [H, W, 3]."""
        with self._or_nothing():
            for packet in self._stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                self._file.mux(packet)

    def finish(self, name: str) -> Path:
        """Completes the file, with this name in the same folder; returns its path."""
        with self._or_nothing():
            for packet in self._stream.encode(None):
                self._file.mux(packet)
            self._file.close()
            return self._path.rename(self._path.with_name(name))

    def discard(self) -> None:
        """Nothing is kept."""
        with contextlib.suppress(OSError, av.FFmpegError):
            self._file.close()
        self._path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """What fails leaves no file, and is an OSError."""
        try:
            yield
        except (OSError, av.FFmpegError) as error:
            if hasattr(self, "_file"):
                self.discard()
            raise error if isinstance(error, OSError) else OSError(str(error)) from error
