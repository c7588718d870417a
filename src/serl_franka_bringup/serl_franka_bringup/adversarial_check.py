"""How often a policy that maximises a reward classifier's output fools it, and how often once the
frames that did are among its negatives.

`python -m serl_franka_bringup.adversarial_check --model runs/pcb/rewards/classifier.model`
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from serl_actor.reward_judge import PROBABILITY
from serl_franka_bringup.adversary import Adversary, AttackConfig
from serl_franka_bringup.fooled_picture import draw
from serl_franka_bringup.labelled_frames import read_frames
from serl_franka_bringup.output import write_json
from serl_franka_bringup.reward_check import Tally
from serl_franka_bringup.rewards import EPISODES
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.simulation_client import Setup, load_given
from serl_learner.episodes import stretch
from serl_learner.rewards.frames import LabelledFrame, Sizes, labelled_frames, thin
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.model_file import read_model, write_model
from serl_learner.rewards.study import Study, study
from serl_learner.types import Record

BLOCK = 500
"""Steps that are counted together; an episode counts where it begins."""

DOUBTFUL = 0.5
"""Probability from which a frame that is not solved is worth a lesson."""

LESSONS = 300
"""Frames that are added as negatives, at most."""


@dataclass
class Attack:
    """What an adversary did to a model.

    Attributes:
      threshold: of the model.
      sizes: of the images that it looks at.
      blocks: counts of each BLOCK steps.
      highest: probability of a frame that is not solved, in each block.
      doubtful: such frames from DOUBTFUL on, with their probability.
    """

    threshold: float
    sizes: Sizes
    steps: int = 0
    blocks: list[Tally] = field(default_factory=list)
    highest: list[float] = field(default_factory=list)
    doubtful: list[tuple[float, LabelledFrame]] = field(default_factory=list)

    def add(self, records: Sequence[Record]) -> None:
        """The records of the next episode, in order."""
        while len(self.blocks) <= self.steps // BLOCK:
            self.blocks.append(Tally())
            self.highest.append(0.0)
        self.steps += len(records) - 1
        self.blocks[-1].add(list(records), self.threshold, records[-1].success)
        episode = stretch(records[0].actor_id, records[0].session, list(records))
        for record, frame in zip(records, labelled_frames(episode, "the attack", self.sizes)):
            probability = float(record.extras[PROBABILITY])
            if frame.label == 0:
                self.highest[-1] = max(self.highest[-1], probability)
            if frame.label == 0 and probability >= DOUBTFUL:
                self.doubtful.append((probability, replace(frame, near=True)))

    @property
    def fooling(self) -> list[tuple[float, LabelledFrame]]:
        """The doubtful frames that are over the threshold."""
        return [(p, frame) for p, frame in self.doubtful if p >= self.threshold]

    def figures(self) -> dict[str, Any]:
        """As JSON has them."""
        names = vars(Tally())
        total = {name: sum(getattr(tally, name) for tally in self.blocks) for name in names}
        return {
            "steps": self.steps,
            "threshold": self.threshold,
            **Tally(**total).figures(),
            "highest": max(self.highest, default=0.0),
            "doubtful": len(self.doubtful),
            "blocks": [
                {"highest": high, **vars(tally)} for high, tally in zip(self.highest, self.blocks)
            ],
        }


def attack(setup: Setup, model: RewardModel, config: AttackConfig) -> Attack:
    """Lets an adversary at the model, which must be the setup's judge; ValueError without one."""
    found = Attack(model.threshold, model.sizes)
    session = hashlib.sha256(f"adversary {setup.seed}".encode()).digest()[:16]
    Adversary(setup, config, session, found.add).attack()
    return found


def harden(
    model: RewardModel,
    frames: Sequence[LabelledFrame],
    doubtful: Sequence[LabelledFrame],
    seed: int,
) -> tuple[Study, int]:
    """The model trained anew, on as much as before and the doubtful frames as negatives, LESSONS of
    them at most; and how many were added. Raises as `study`."""
    lessons = thin(doubtful, {0: LESSONS}, np.random.default_rng(seed))
    negatives, positives = model.report["trained_on"]
    # Of the negatives up to half are near ones, which these count among.
    wanted = negatives + 2 * len(lessons)
    done = study([*frames, *lessons], model.sizes, model.config, positives, wanted, seed)
    return done, len(lessons)


def describe(name: str, figures: dict[str, Any]) -> str:
    """One attack in a few lines."""
    lines = [
        f"{name}: {figures['false_positives']} of {figures['negatives']} frames and "
        f"{figures['false_successes']} of {figures['episodes']} episodes fooled it "
        f"({figures['successes'] - figures['false_successes']} solved truly)"
    ]
    for number, block in enumerate(figures["blocks"]):
        lines.append(
            f"  steps {number * BLOCK:4d}..: {block['false_positives']:3d} frames, "
            f"{block['false_successes']:2d} of {block['episodes']} episodes, highest probability "
            f"{block['highest']:.4f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Attacks, trains anew and attacks again, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--model", type=Path, required=True, metavar="FILE")
    parser.add_argument("--frames", type=Path, metavar="DIR", help="without: beside the model")
    parser.add_argument("--hardened", type=Path, metavar="FILE", help="where the new model goes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=AttackConfig.steps)
    parser.add_argument("--climb", type=int, default=AttackConfig.climb, help="without learning")
    parser.add_argument("--utd-ratio", type=int, default=AttackConfig.utd_ratio)
    add_settings(parser)
    parser.add_argument("--picture", type=Path, metavar="PNG", help="of frames that fooled it")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    config = AttackConfig(given.steps, given.climb, given.utd_ratio)

    def one(path: Path, name: str) -> tuple[RewardModel, Attack, dict[str, Any]]:
        arguments = {"observation": "image", "reward": "classifier", "reward_model": str(path)}
        setup, model = load_given(given, seed=given.seed, **arguments), read_model(path)
        found = attack(setup, model, config)
        print(describe(name, found.figures()), flush=True)
        report = {"model_id": model.model_id, "report": model.report}
        return model, found, {**found.figures(), **report}

    model, found, before = one(given.model, "before")
    result: dict[str, Any] = {"seed": given.seed, "before": before, "added": 0, "after": None}
    if found.fooling and given.picture is not None:
        draw(found.fooling, given.picture)
    if found.doubtful:
        frames = read_frames(given.frames or given.model.parent / EPISODES, model.sizes)
        doubtful = [frame for _, frame in found.doubtful]
        done, result["added"] = harden(model, frames, doubtful, given.seed)
        path = given.hardened or given.model.with_name("hardened.model")
        write_model(path, done.model)
        print(f"{result['added']} frames added as negatives: {path}", flush=True)
        _, _, result["after"] = one(path, "after")
    write_json(given.json, result)


if __name__ == "__main__":
    main()
