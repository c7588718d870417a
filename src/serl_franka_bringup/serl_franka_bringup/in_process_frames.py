"""Records labelled frames in one process, without a learner: as `./serl record --rewards` does.

`python -m serl_franka_bringup.in_process_frames --out runs/pcb/rewards/episodes --seed 0`
"""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path
from typing import Any

from serl_actor.job import Job
from serl_franka_bringup.in_process_crew import InProcessCrew
from serl_franka_bringup.output import write_json
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.simulation_client import Setup, load_given
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import stretch
from serl_learner.ros_log import encode_episode, read_episode
from serl_learner.types import Record


class EpisodeFiles:
    """Writes each episode as one file when its last record has come."""

    def __init__(self, directory: Path) -> None:
        self._store = EpisodeStore(None, directory, read_episode, encode_episode)
        self._open: list[Record] = []

    def __call__(self, record: Record) -> None:
        """The next record."""
        self._open.append(record)
        if record.last:
            records, self._open = self._open, []
            episode = stretch(record.actor_id, record.session, records)
            self._store.write(episode, self._store.encode(episode))


def record_frames(setup: Setup, directory: Path) -> dict[str, Any]:
    """Labels frames as the job says, into files of `directory`; its result."""
    session = hashlib.sha256(f"frames {setup.seed}".encode()).digest()[:16]
    crew = InProcessCrew(setup, log=EpisodeFiles(directory), session=session)
    result = Job(setup.job, crew, time.monotonic).run()
    setup.client.close()
    return result


def main() -> None:
    """Records as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--positives", type=int)
    parser.add_argument("--negatives", type=int)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    setup = load_given(
        given,
        seed=given.seed,
        observation="image",
        job="label",
        positives=given.positives,
        negatives=given.negatives,
    )
    result = record_frames(setup, given.out)
    print(result)
    write_json(given.json, result)


if __name__ == "__main__":
    main()
