"""A policy that wants only a high output: what it is rewarded for, what of it is counted, and that
what fooled a model is made a negative."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from serl_actor.reward_judge import LocalJudge
from serl_franka_bringup import adversarial_check, graph
from serl_franka_bringup.adversarial_check import Attack, attack, describe, harden
from serl_franka_bringup.adversary import Adversary, AttackConfig, Climber, ScoredJudge, score
from serl_franka_bringup.fooled_picture import draw, worst
from serl_franka_bringup.simulation_client import Setup, load_setup
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.frames import LabelledFrame
from serl_learner.types import Record, Source

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
QUICK = {
    "learner": {
        "agent.critics": 2,
        "agent.hidden": (8, 8),
        "batch_size": 8,
        "training_starts": 10,
    },
    "actor": {"task.episode_steps": 12},
}
SIZES = {"side": (4, 4)}


class Height:
    """A model that thinks the task is solved where the tool is high, which it is not."""

    model = SimpleNamespace(threshold=0.6, frames=2, model_id="high")

    def __init__(self, gain: float = 20.0) -> None:
        self.gain, self.heights = gain, []

    def probability(self, observation) -> float:
        self.heights.append(float(observation["state/tcp_pose"][2]))
        return 1.0 / (1.0 + math.exp(-self.gain * (self.heights[-1] - self.heights[0])))


def setup(judge: LocalJudge | None = None) -> Setup:
    arguments = graph.Arguments(seed=1, observation="state")
    return replace(load_setup(str(PCB), arguments, QUICK), judge=judge)


def test_the_score_is_the_log_odds_within_limits():
    assert score(0.5) == 0.0
    assert score(0.9) == pytest.approx(math.log(9.0) / 12.0)
    assert score(0.1) == pytest.approx(-score(0.9))
    assert (score(0.0), score(1.0)) == (-1.0, 1.0)


def test_a_step_is_worth_by_how_much_it_raised_the_score_and_nothing_else(monkeypatch):
    episodes: list[list[Record]] = []
    judge = LocalJudge(RewardEstimator(Height()))
    adversary = Adversary(setup(judge), AttackConfig(40, 20, 1), bytes(16), episodes.append)
    learned: list[Record] = []
    add = adversary.learner.add

    def listen(record: Record) -> None:
        learned.append(record)
        add(record)

    monkeypatch.setattr(adversary.learner, "add", listen)
    adversary.attack()
    scores = [[score(float(r.extras["reward/probability"])) for r in e] for e in episodes]
    wanted = np.concatenate([np.diff(values) for values in scores])
    np.testing.assert_allclose([r.reward for r in learned if not r.last], wanted, atol=1e-6)
    assert sum(not r.last for r in learned) >= 40
    assert {r.source for r in learned} == {Source.RANDOM, Source.POLICY}
    assert adversary.learner.updates > 0
    ended = [e[-1].success for e in episodes]
    assert [e[-2].terminated for e in episodes] == ended
    assert [r.seq for r in learned] == [r.seq for e in episodes for r in e]


def test_what_it_climbs_is_the_score_of_the_step_it_just_took():
    episodes: list[list[Record]] = []
    judge = LocalJudge(RewardEstimator(Height()))
    adversary = Adversary(setup(judge), AttackConfig(1, 1), bytes(16), episodes.append)
    adversary.attack()
    last = score(float(episodes[-1][-1].extras["reward/probability"]))
    assert adversary._scored.score == pytest.approx(last, abs=1e-6) != -1.0


def test_the_climber_goes_on_while_it_helps_and_turns_when_it_does_not():
    judge = ScoredJudge(SimpleNamespace(begin=lambda: None))
    climber = Climber(judge, 6, 0)
    climber.begin()
    actions = []
    for value in (-0.5, -0.4, -0.3, -0.35, -0.2):
        judge.score = value
        actions.append(climber.choose({}, None).action)
    same = [np.array_equal(a, b) for a, b in pairwise(actions)]
    assert same == [True, True, False, True]


def test_a_model_that_looks_at_the_wrong_thing_is_fooled():
    model = SimpleNamespace(threshold=0.6, sizes={})
    found = attack(setup(LocalJudge(RewardEstimator(Height(60.0)))), model, AttackConfig(100, 100))
    figures = found.figures()
    assert figures["steps"] >= 100
    assert figures["false_successes"] == figures["successes"] > 0
    assert figures["false_positives"] == len(found.fooling) >= 2 * figures["false_successes"]
    assert figures["highest"] > 0.6
    assert "fooled it (0 solved truly)" in describe("before", figures)


def test_nobody_to_fool():
    with pytest.raises(ValueError, match="nobody judges"):
        Adversary(setup(), AttackConfig(), bytes(16), lambda _: None)


@pytest.mark.parametrize(("name", "value"), [("steps", 0), ("utd_ratio", 0), ("climb", -1)])
def test_wrong_figures_are_refused_with_their_value(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        AttackConfig(**{name: value})


def episode(number: int, *frames: tuple[bool, float]) -> list[Record]:
    pixels = np.full((4, 4, 3), 25 * number, np.uint8)
    return [
        Record(
            bytes(16),
            step,
            number,
            step,
            {"image/side": pixels},
            None,
            last=step == len(frames) - 1,
            success=step == len(frames) - 1 and frames[-1][1] >= 0.8,
            extras={
                "label/success": np.asarray(solved),
                "reward/probability": np.asarray(probability, np.float32),
            },
        )
        for step, (solved, probability) in enumerate(frames)
    ]


@pytest.fixture
def found(monkeypatch) -> Attack:
    monkeypatch.setattr(adversarial_check, "BLOCK", 3)
    attack = Attack(0.8, SIZES)
    attack.add(episode(0, (False, 0.1), (False, 0.6), (False, 0.85), (False, 0.9)))
    attack.add(episode(1, (False, 0.1), (True, 0.7), (True, 0.95)))
    attack.add(episode(2, (False, 0.1), (False, 0.2)))
    return attack


def test_frames_and_episodes_are_counted_where_they_begin(found):
    figures = found.figures()
    assert (figures["steps"], figures["episodes"], figures["successes"]) == (6, 3, 2)
    assert (figures["false_positives"], figures["false_successes"]) == (2, 1)
    assert [block["false_positives"] for block in figures["blocks"]] == [2, 0]
    assert [block["episodes"] for block in figures["blocks"]] == [1, 2]
    assert [block["highest"] for block in figures["blocks"]] == pytest.approx([0.9, 0.2])


def test_what_is_not_solved_and_looks_like_it_is_a_lesson(found):
    assert [p for p, _ in found.doubtful] == pytest.approx([0.6, 0.85, 0.9])
    assert all(frame.label == 0 and frame.near for _, frame in found.doubtful)
    assert [p for p, _ in found.fooling] == pytest.approx([0.85, 0.9])


def test_of_each_episode_the_worst_frame_is_drawn(found, tmp_path):
    found.add(episode(3, (False, 0.1), (False, 0.93), (False, 0.99)))
    assert [p for p, _ in worst(found.fooling)] == pytest.approx([0.99, 0.9])
    draw(found.fooling, tmp_path / "fooled.png")
    with Image.open(tmp_path / "fooled.png") as picture:
        assert picture.size[0] > 300
        assert np.ptp(np.asarray(picture)) > 100


def test_lessons_are_added_to_as_much_as_there_was(found, monkeypatch):
    asked: list = []
    monkeypatch.setattr(adversarial_check, "study", lambda *args: asked.append(args))
    monkeypatch.setattr(adversarial_check, "LESSONS", 2)
    config = SimpleNamespace()
    model = SimpleNamespace(report={"trained_on": [60, 20]}, sizes=SIZES, config=config)
    frames = [LabelledFrame(record, 1) for record in episode(9, (True, 0.9))]
    _, added = harden(model, frames, [frame for _, frame in found.doubtful], 5)
    assert added == 2
    ((given, *rest),) = asked
    assert [frame.label for frame in given] == [1, 0, 0]
    assert rest == [SIZES, config, 20, 64, 5]
