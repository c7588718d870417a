"""Where episodes are kept, and what of them is training data after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from serl_learner.types import ObservationSpec, Record, Source
from serl_learner.validation import RejectedRecord, check_record


class EpisodeError(ValueError):
    """An episode that must not be used; the message names the file and what is wrong with it."""


ReadEpisode = Callable[[Path], list[Record]]
WriteEpisode = Callable[[Path, Sequence[Record]], None]


def is_demonstration(records: Sequence[Record]) -> bool:
    """A demonstration from beginning to end, that succeeded."""
    return records[-1].success and all(r.source == Source.DEMO for r in records)


def close_episode(records: Sequence[Record]) -> list[Record]:
    """The episode with its last record; one that lacks it was broken off: its last observation
    becomes the final one and is marked as aborted."""
    last = records[-1]
    if last.last:
        return list(records)
    end = replace(
        last, action=None, reward=0.0, terminated=False, truncated=False, last=True, aborted=True
    )
    return [*records[:-1], end]


class EpisodeStore:
    """Demonstrations in one directory, shared by all runs of a task; the rest in another.

    File names sort by session and episode. Without a log directory the rest is not
    kept; without one for demonstrations, they are logged like the rest.
    """

    def __init__(
        self,
        demonstrations: Path | None,
        log: Path | None,
        read: ReadEpisode,
        write: WriteEpisode,
    ) -> None:
        self._demonstrations = demonstrations
        self._log = log
        self._read = read
        self._write = write

    @property
    def keeps_log(self) -> bool:
        """Episodes other than demonstrations are kept, too."""
        return self._log is not None

    def seal(self, records: Sequence[Record]) -> None:
        """Keeps one finished episode; on disk when this returns."""
        directory = (is_demonstration(records) and self._demonstrations) or self._log
        if directory is not None:
            first = records[0]
            name = f"{first.session.hex()[:8]}-{first.episode:06d}.mcap"
            self._write(directory / name, records)

    def demonstrations(self) -> Iterator[tuple[Path, list[Record]]]:
        """All demonstrations, file by file."""
        return self._episodes(self._demonstrations)

    def logged(self) -> Iterator[tuple[Path, list[Record]]]:
        """All other episodes, in the order in which they were sealed."""
        return self._episodes(self._log)

    def _episodes(self, directory: Path | None) -> Iterator[tuple[Path, list[Record]]]:
        if directory is None or not directory.is_dir():
            return
        paths = [p for p in directory.glob("*.mcap") if not p.name.startswith(".")]
        for path in sorted(paths, key=lambda p: (p.stat().st_mtime_ns, p.name)):
            yield path, self._read(path)


def check_episode(
    path: Path, records: Sequence[Record], spec: ObservationSpec, action_dim: int
) -> None:
    """Raises EpisodeError, naming the key, what was expected and what was found."""
    for record in records:
        try:
            check_record(record, spec, action_dim)
        except RejectedRecord as error:
            raise EpisodeError(f"{path} is of another layout: {error}") from error
