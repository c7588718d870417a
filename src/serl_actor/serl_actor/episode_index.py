"""Which numbers the steps of recent episodes got, for a verdict that comes late."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict

from serl_learner.types import Record

EPISODES = 1000
"""Episodes that are remembered."""


class UnknownSteps(LookupError):
    """Steps that were not recorded lately; the message shows them and what there is."""


class EpisodeIndex:
    """Numbers by episode and step; from any thread."""

    def __init__(self, episodes: int = EPISODES) -> None:
        self._limit = episodes
        self._lock = threading.Lock()
        self._seqs: OrderedDict[int, array[int]] = OrderedDict()

    def add(self, record: Record) -> None:
        """The next step of an episode."""
        with self._lock:
            seqs = self._seqs.setdefault(record.episode, array("Q"))
            if record.step != len(seqs):
                raise ValueError(
                    f"step {record.step} of episode {record.episode}: {len(seqs)} next"
                )
            seqs.append(record.seq)
            while len(self._seqs) > self._limit:
                self._seqs.popitem(last=False)

    def find(self, episode: int, first_step: int, last_step: int) -> tuple[int, int]:
        """Numbers of the first and the last of these steps, inclusive; raises UnknownSteps."""
        with self._lock:
            seqs = self._seqs.get(episode)
            if seqs is None:
                known = [*self._seqs][:: max(len(self._seqs) - 1, 1)]
                raise UnknownSteps(f"episode {episode} is not recorded; first and last are {known}")
            if not 0 <= first_step <= last_step < len(seqs):
                raise UnknownSteps(
                    f"steps {first_step}..{last_step} of episode {episode} are no range in "
                    f"0..{len(seqs) - 1}"
                )
            return seqs[first_step], seqs[last_step]
