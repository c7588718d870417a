"""Puts episodes into a directory of the log, each once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from serl_learner.data.bag_index import write_index
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import Episode
from serl_learner.ros_log import encode_episode, read_episode


def keep_episodes(directory: Path, episodes: Iterable[Episode]) -> int:
    """Writes those that are not there yet, by session and number; how many that were.

    Raises:
      EpisodeError: a file that lies there is damaged.
      OSError: it cannot be written.
    """
    store = EpisodeStore(None, directory, read_episode, encode_episode)
    there = {(episode.session, episode.number) for _, episode in store.episodes()}
    added = 0
    for episode in episodes:
        if (episode.session, episode.number) not in there:
            store.write(episode, store.encode(episode))
            there.add((episode.session, episode.number))
            added += 1
    write_index(directory)
    return added
