"""Where episodes are kept: one file each, whole or absent, in the order in which they ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from serl_learner.atomic_file import remove_unfinished
from serl_learner.disk_space import DiskSpace
from serl_learner.episodes import Episode, is_demonstration
from serl_learner.types import Relabel

ReadEpisode = Callable[[Path], Episode]
EncodeEpisode = Callable[[Episode], bytes]
RELABELS = "relabels"
"""Directory of the relabels of demonstrations, below theirs."""
UNFINISHED_AGE = 3600.0
"""Nobody writes that long to one file [s]."""
_NAME = re.compile(r"^n(?P<order>\d+)-")


class EpisodeStore:
    """Demonstrations in one directory, shared by all runs of a task; the rest in another.

    Names are `n<order>-<session>-<episode>[-part<part>].mcap`; a file without a record is called
    after its first sequence number in place of the episode. Files of other names count as older
    than those, in the order of their times. Without a log directory the rest is not kept;
    without one for demonstrations, they are logged like the rest.

    A relabel that concerns a demonstration is logged like any other, and also kept in `relabels/`
    beside the demonstrations: other runs learn from them, too.
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
        self._demonstrated: dict[bytes, list[range]] = {}

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
        order, copy = self._next_order(), self._relabels_of_demonstrations(episode)
        if copy is not None and self._demonstrations is not None:
            # Counts as later, but comes first: a kill between the two loses nothing.
            later = self._demonstrations / RELABELS / _name(order + 1, copy)
            self.space.write(later, self._encode(copy))
        directory = self.directory_of(episode)
        path = directory / _name(order, episode) if directory is not None else None
        if path is not None:
            self.space.write(path, content)
            self._note(path, episode)
        self._order = order + (1 if copy is None else 2)
        return path

    def episodes(self) -> Iterator[tuple[Path, Episode]]:
        """All that is kept, demonstrations among it, in the order in which it was written."""
        for path in sorted(self._paths(), key=_age):
            episode = self._read(path)
            self._note(path, episode)
            yield path, episode

    def remove_unfinished(self) -> None:
        """Removes what kills left of unfinished files; whoever calls it holds the log's lock."""
        if self.log is not None:
            remove_unfinished(self.log)
        if self._demonstrations is not None:  # where other runs write, too
            for directory in (self._demonstrations, self._demonstrations / RELABELS):
                remove_unfinished(directory, UNFINISHED_AGE)

    def _paths(self) -> list[Path]:
        demonstrations = self._demonstrations
        relabels = demonstrations / RELABELS if demonstrations is not None else None
        return [p for d in (demonstrations, relabels, self.log) for p in _files(d)]

    def _note(self, path: Path, episode: Episode) -> None:
        if path.parent == self._demonstrations and episode.records:
            numbers = [record.seq for record in episode.records]
            span = range(numbers[0], numbers[-1] + 1)
            self._demonstrated.setdefault(episode.session, []).append(span)

    def _relabels_of_demonstrations(self, episode: Episode) -> Episode | None:
        """A copy of those in a file of the log; it accounts for no number."""
        spans = self._demonstrated.get(episode.session, [])
        found = [
            entry
            for entry in episode.entries
            if isinstance(entry, Relabel)
            and any(entry.first_seq < s.stop and s.start <= entry.last_seq for s in spans)
        ]
        if not found or self.directory_of(episode) == self._demonstrations:
            return None
        return Episode(episode.actor_id, episode.session, tuple(found))

    def _next_order(self) -> int:
        if self._order is None:
            self._order = max(map(_order, self._paths()), default=0) + 1
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
