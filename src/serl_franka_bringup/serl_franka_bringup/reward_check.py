"""How often a reward classifier is wrong in episodes that it was not trained on.

`python -m serl_franka_bringup.reward_check --model runs/pcb/rewards/classifier.model`
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serl_actor.drivers import OperatorDriver, RandomDriver
from serl_actor.environment import Environment
from serl_actor.evaluation import wilson_interval
from serl_actor.recorder import Recorder
from serl_actor.reward_judge import PROBABILITY, LocalJudge
from serl_actor.rollout import Driver, run_episode
from serl_franka_bringup.output import write_json
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.simulation_client import Setup, load_given
from serl_learner.rewards.frames import SUCCESS
from serl_learner.types import Entry, Record

DRIVERS = ("random", "expert")


@dataclass
class Tally:
    """What was said, against the pose; frames are all that were seen, the last of each episode,
    too."""

    episodes: int = 0
    negatives: int = 0  # frames
    false_positives: int = 0  # of these, over the threshold
    positives: int = 0
    true_positives: int = 0
    successes: int = 0  # episodes that the judge ended
    false_successes: int = 0  # of these, not solved then

    def add(self, records: list[Record], threshold: float, success: bool) -> None:
        """One more episode, its records in order."""
        self.episodes += 1
        for record in records:
            solved = bool(record.extras[SUCCESS])
            over = float(record.extras[PROBABILITY]) >= threshold
            self.negatives += not solved
            self.false_positives += over and not solved
            self.positives += solved
            self.true_positives += over and solved
        self.successes += success
        self.false_successes += success and not bool(records[-1].extras[SUCCESS])

    def figures(self) -> dict[str, Any]:
        """As JSON has them; rates with their 95 % intervals."""
        return {
            **vars(self),
            "false_positive_rate": self.false_positives / max(self.negatives, 1),
            "false_positive_interval": wilson_interval(self.false_positives, self.negatives),
            "false_success_rate": self.false_successes / max(self.episodes, 1),
            "false_success_interval": wilson_interval(self.false_successes, self.episodes),
        }


def check(setup: Setup, driver: str, episodes: int, first_seed: int) -> Tally:
    """Runs `episodes` with starts of the seeds from `first_seed` on; the judge ends them.

    Raises:
      ValueError: the setup has no judge.
    """
    if setup.judge is None:
        raise ValueError("nobody judges: the reward is sparse")
    judge: LocalJudge = setup.judge
    environment = Environment(setup.client, setup.task, cameras=setup.cameras, judge=judge)
    entries: list[Entry] = []
    recorder = Recorder(bytes(16), "check", entries.append)
    tally = Tally()
    acts: Driver = RandomDriver(setup.task.action_dim, first_seed)
    if driver == "expert":
        acts = OperatorDriver(setup.client, setup.task.action_dim)
    for number in range(episodes):
        entries.clear()
        episode = run_episode(environment, acts, recorder, first_seed + number)
        records = [entry for entry in entries if isinstance(entry, Record)]
        tally.add(records, judge.threshold, episode.success)
    return tally


def main() -> None:
    """Checks as the command line says, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--model", required=True, metavar="FILE")
    parser.add_argument("--driver", choices=DRIVERS, default="random")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=50_000)
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    setup = load_given(
        given, observation="image", reward="classifier", reward_model=str(given.model)
    )
    figures = check(setup, given.driver, given.episodes, given.first_seed).figures()
    setup.client.close()
    print(figures)
    write_json(given.json, figures)


if __name__ == "__main__":
    main()
