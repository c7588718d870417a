"""Keeps the log within its size: the oldest files go, what they said of sessions stays."""

from __future__ import annotations

import copy
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from serl_learner.atomic_file import write_file
from serl_learner.disk_space import FULL
from serl_learner.episodes import Episode, EpisodeError, is_demonstration, learned_entries
from serl_learner.segments import count_transitions
from serl_learner.types import Record

RETIRED = "retired.json"


@dataclass
class Retired:
    """What files that are gone held.

    Attributes:
      next_seq, next_episode, actor_id: by session, in hexadecimal.
      prior, online: transitions that went to either half of replay.
      demonstrations: those that had succeeded.
      files: how many there were.
      removing: files that are counted here already but may not be removed yet.
    """

    next_seq: dict[str, int] = field(default_factory=dict)
    next_episode: dict[str, int] = field(default_factory=dict)
    actor_id: dict[str, str] = field(default_factory=dict)
    prior: int = 0
    online: int = 0
    demonstrations: int = 0
    files: int = 0
    removing: list[str] = field(default_factory=list)

    def ends(self) -> Iterator[tuple[Episode, int]]:
        """The end of every session, without records, and the number of its next episode."""
        for name, seq in self.next_seq.items():
            end = Episode(self.actor_id[name], bytes.fromhex(name), (), next_seq=seq)
            yield end, self.next_episode[name]


@dataclass(frozen=True)
class _File:
    path: Path
    size: int
    prior: int
    online: int
    demonstrations: int
    end: Episode
    next_episode: int


class LogRetention:
    """Removes the oldest files of a directory while they are more than `limit` bytes together.

    A file that replay would need after a restart is not removed, nor any after it; then the log
    is larger than its limit. A file that is gone is first counted in `retired.json`.
    """

    def __init__(
        self,
        directory: Path,
        limit: int | None,
        removed: Callable[[Path], None] = lambda path: None,
    ) -> None:
        """Finishes a removal that was interrupted; `removed` hears of every file that goes.

        Raises EpisodeError: the JSON is damaged.
        """
        self._directory = directory
        self._limit = limit
        self._removed = removed
        self._told_exceeded = False
        self._files: deque[_File] = deque()
        self.retired = self._load()
        for name in self.retired.removing:
            (directory / name).unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes of the files that are known."""
        return sum(file.size for file in self._files)

    @property
    def exceeded(self) -> bool:
        """It is larger than its limit: replay needs what there is."""
        return self._limit is not None and self.size > self._limit

    def note(self, path: Path, episode: Episode) -> None:
        """A file of the directory, in their order."""
        if self._limit is None:
            return
        learned = (entry for entry in learned_entries(episode) if isinstance(entry, Record))
        prior, online = count_transitions(learned)
        end = Episode(episode.actor_id, episode.session, (), next_seq=episode.next_seq)
        following = 0 if episode.number is None else episode.number + episode.complete
        size, demonstration = path.stat().st_size, int(is_demonstration(episode))
        self._files.append(_File(path, size, prior, online, demonstration, end, following))

    def limit(self, prior_capacity: int, online_capacity: int) -> list[str]:
        """As `enforce`; what there is to tell of it."""
        notices = []
        removed = self.enforce(prior_capacity, online_capacity)
        if removed:
            notices.append(f"log_bytes: {len(removed)} files removed, the oldest ones")
        needed = self.exceeded and not self._choose(prior_capacity, online_capacity)
        if needed and not self._told_exceeded:
            self._told_exceeded = True
            notices.append(f"log_bytes: the log has {self.size} bytes; replay needs all of them")
        return notices

    def enforce(self, prior_capacity: int, online_capacity: int) -> list[Path]:
        """Removes what may go; capacities are those of replay, in transitions.

        Returns:
          The files that were removed, oldest first. None, and nothing is counted, on a disk so
          full that `retired.json` cannot be written.
        """
        if self._limit is None:
            return []
        removed = self._choose(prior_capacity, online_capacity)
        if not removed:
            return []
        retired = copy.deepcopy(self.retired)
        retired.removing = [file.path.name for file in removed]
        for file in removed:
            _count(retired, file)
        try:  # down to the last byte: it makes room
            content = json.dumps(asdict(retired), indent=1).encode()
            write_file(self._directory / RETIRED, content)
        except OSError as error:
            if error.errno in FULL:
                return []
            raise
        self.retired = retired
        for file in removed:
            self._files.popleft()
            file.path.unlink(missing_ok=True)
            self._removed(file.path)
        return [file.path for file in removed]

    def _choose(self, prior_capacity: int, online_capacity: int) -> list[_File]:
        size = self.size
        prior = sum(file.prior for file in self._files)
        online = sum(file.online for file in self._files)
        chosen = []
        for file in self._files:
            prior, online = prior - file.prior, online - file.online
            needed = (file.prior and prior < prior_capacity) or (
                file.online and online < online_capacity
            )
            if size <= (self._limit or 0) or needed:
                break
            chosen.append(file)
            size -= file.size
        return chosen

    def _load(self) -> Retired:
        path = self._directory / RETIRED
        try:
            return Retired(**json.loads(path.read_bytes()))
        except FileNotFoundError:
            return Retired()
        except (ValueError, TypeError) as error:
            raise EpisodeError(f"{path} is damaged: {error}") from error


def _count(retired: Retired, file: _File) -> None:
    name = file.end.session.hex()
    retired.next_seq[name] = max(retired.next_seq.get(name, 0), file.end.next_seq)
    retired.next_episode[name] = max(retired.next_episode.get(name, 0), file.next_episode)
    retired.actor_id[name] = file.end.actor_id
    retired.prior += file.prior
    retired.online += file.online
    retired.demonstrations += file.demonstrations
    retired.files += 1
