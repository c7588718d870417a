"""Where episodes are kept: one file each, whole or absent, in the order in which they ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from serl_learner.disk_space import DiskSpace
from serl_learner.episodes import Episode, is_demonstration

ReadEpisode = Callable[[Path], Episode]
EncodeEpisode = Callable[[Episode], bytes]
_NAME = re.compile(r"^n(?P<order>\d+)-")


class EpisodeStore:
    """Demonstrations in one directory, shared by all runs of a task; the rest in another.

    Names are `n<order>-<session>-<episode>[-part<part>].mcap`; a file without a record is called
    after its first sequence number in place of the episode. Files of other names count as older
    than those, in the order of their times. Without a log directory the rest is not kept;
    without one for demonstrations, they are logged like the rest.
    """

    def __init__(
        self,
        demonstrations: Path | None,
        log: Path | None,
        read: ReadEpisode,
        encode: EncodeEpisode,
        space: DiskSpace | None = None,
    ) -> None:
        self._demonstrations = demonstrations
        self.log = log
        self._read = read
        self._encode = encode
        self.space = space or DiskSpace()
        self._order: int | None = None

    @property
    def keeps_log(self) -> bool:
        """Episodes other than demonstrations are kept, too."""
        return self.log is not None

    @property
    def keeps_demonstrations(self) -> bool:
        """They are kept, in a directory of their own or in the log."""
        return self._demonstrations is not None or self.keeps_log

    def directory_of(self, episode: Episode) -> Path | None:
        """Where it belongs; None: nowhere."""
        return (is_demonstration(episode) and self._demonstrations) or self.log

    def encode(self, episode: Episode) -> bytes:
        """The content of its file; empty if it is not kept."""
        return self._encode(episode) if self.directory_of(episode) is not None else b""

    def write(self, episode: Episode, content: bytes) -> Path | None:
        """Keeps one; on disk when this returns. Raises NoSpace, and nothing is written then."""
        directory = self.directory_of(episode)
        if directory is None:
            return None
        path = directory / _name(self._next_order(), episode)
        self.space.write(path, content)
        self._order = self._next_order() + 1
        return path

    def episodes(self) -> Iterator[tuple[Path, Episode]]:
        """All that is kept, demonstrations among it, in the order in which it was written."""
        paths = [*_files(self._demonstrations), *_files(self.log)]
        for path in sorted(paths, key=_age):
            yield path, self._read(path)

    def _next_order(self) -> int:
        if self._order is None:
            orders = [_order(p) for d in (self._demonstrations, self.log) for p in _files(d)]
            self._order = max(orders, default=0) + 1
        return self._order


def _name(order: int, episode: Episode) -> str:
    what = f"seq{episode.first_seq}" if episode.number is None else f"{episode.number:06d}"
    part = f"-part{episode.part}" if episode.part else ""
    return f"n{order:06d}-{episode.session.hex()[:8]}-{what}{part}.mcap"


def _order(path: Path) -> int:
    match = _NAME.match(path.name)
    return int(match["order"]) if match else 0


def _files(directory: Path | None) -> list[Path]:
    if directory is None or not directory.is_dir():
        return []
    return [p for p in directory.glob("*.mcap") if not p.name.startswith(".")]


def _age(path: Path) -> tuple[int, int, str]:
    order = _order(path)
    return order, 0 if order else path.stat().st_mtime_ns, path.name
