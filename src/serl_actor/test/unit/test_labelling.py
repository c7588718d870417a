"""Labelled frames: by the truth with the arm drawing back, or by an operator's key for all that
follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import FakeArm, action_to_target, with_steps

from serl_actor.drivers import RandomDriver
from serl_actor.environment import Environment
from serl_actor.intervention import SUCCESS
from serl_actor.job import Job, JobConfig, JobFailed
from serl_actor.labelling import LabelConfig, LabelledDriver, Labelling
from serl_actor.operator_keys import OperatorKeys
from serl_actor.recorder import Recorder
from serl_actor.rollout import Choice, Episode, run_episode
from serl_actor.training import Training
from serl_learner.types import Source


class Straight:
    """Goes to the target; `keys` are pressed at the step `press`."""

    def __init__(self, task, keys=None, press=()):
        self.task, self.keys, self.press, self.step = task, keys, press, 0

    def begin(self):
        self.step = 0

    def choose(self, observation, state):
        if self.step in self.press:
            self.keys.press(SUCCESS)
        self.step += 1
        return Choice(action_to_target(self.task, state.tcp_pose), Source.DEMO)


def record(task, config, driver, keys, steps=40):
    records: list = []
    labelling = Labelling(config, keys)
    environment = Environment(FakeArm(socket=task.target), with_steps(task, steps))
    episode = run_episode(
        environment,
        LabelledDriver(driver, labelling, task.action_dim, 0),
        Recorder(bytes(16), "actor", records.append),
        0,
        labelling=labelling,
    )
    return episode, records


@pytest.fixture
def near(task):
    """Four steps of 1 cm above the target."""
    return replace(task, start_height=0.04, random_xy=0.0, random_yaw=0.0)


class WithGripper(Straight):
    """Goes there with a hand that stays open."""

    def choose(self, observation, state):
        choice = super().choose(observation, state)
        return Choice(np.append(choice.action, 0.0), choice.source)


def labels(records) -> list[bool]:
    return [bool(r.extras["label/success"]) for r in records]


def test_by_truth_a_solved_episode_goes_on_and_the_arm_draws_back(near):
    config = LabelConfig(stay=3, around=0, back=4)
    episode, records = record(near, config, Straight(near), OperatorKeys())
    found = labels(records)
    assert found[:4] == [False] * 4  # the first observation and three on the way
    assert found[4:8] == [True] * 4
    assert found[-3:] == [False] * 3  # back, out of the threshold
    assert len(records) == 12
    assert (episode.positives, episode.negatives) == (sum(found), len(found) - sum(found))
    assert episode.success
    back = [r.action for r in records[8:-1]]
    assert all(action[2] <= -0.1 and np.abs(action).max() <= 0.5 for action in back)


def test_before_it_draws_back_the_arm_is_moved_out_of_what_is_solved_and_in_again(near):
    config = LabelConfig(stay=3, around=12, back=0)
    _, records = record(near, config, Straight(near), OperatorKeys())
    after = records[7:]  # the fourth solved observation and those that follow
    assert len(after) == 13
    along = [r.action[2] for r in after[:-1]]  # the tool's z axis points at the socket
    assert all(-0.25 <= z <= -0.05 for z, solved in zip(along, labels(after)) if solved)
    assert all(z > -0.05 for z, solved in zip(along, labels(after)) if not solved)  # box: less in
    assert set(labels(after)) == {True, False}
    assert labels(after) != sorted(labels(after), reverse=True)  # solved again after it was not


def test_a_gripper_stays_as_it_is_while_the_arm_draws_back(near):
    config, moved = LabelConfig(stay=3), replace(near, gripper="binary")
    _, records = record(moved, config, WithGripper(moved), OperatorKeys())
    actions = [r.action for r in records[:-1]]
    assert {len(action) for action in actions} == {7}
    assert {action[6] for action in actions} == {0.0}


def test_what_is_labelled_is_logged_and_not_trained_on(near):
    _, records = record(near, LabelConfig(), Straight(near), OperatorKeys())
    assert {r.source for r in records} == {Source.EVAL}
    assert not any(r.terminated for r in records)
    assert records[-1].last


def test_the_key_marks_all_frames_that_follow_d42(near):
    keys = OperatorKeys()
    config = LabelConfig(by="operator", stay=4, around=3, back=9)
    _, records = record(near, config, Straight(near, keys, press=(2,)), keys)
    assert labels(records) == [False] * 3 + [True] * 8  # from what followed the key to the end


def test_a_key_pressed_before_the_episode_is_forgotten(near):
    keys = OperatorKeys()
    keys.press(SUCCESS)
    config = LabelConfig(by="operator")
    episode, records = record(near, config, Straight(near), keys, steps=6)
    assert not any(labels(records))
    assert (episode.positives, episode.success) == (0, False)


def test_each_press_is_the_next_stage(near):
    keys = OperatorKeys()
    config = LabelConfig(by="operator", stages=2, stay=1, around=0)
    _, records = record(near, config, Straight(near, keys, press=(1, 3)), keys)
    assert [int(r.extras["label/stage"]) for r in records] == [0, 0, 1, 1, 2, 2]
    assert labels(records) == [False] * 4 + [True] * 2


def test_an_episode_that_is_never_solved_ends_at_its_limit(near):
    driver = RandomDriver(6, 0)
    episode, records = record(near, LabelConfig(), driver, OperatorKeys(), steps=7)
    assert len(records) == 8
    assert records[-2].truncated
    assert (episode.positives, episode.negatives) == (0, 8)


class Crew:
    """Episodes with these positives and negatives; remembers who drove."""

    def __init__(self, positives=10, negatives=40):
        self.each, self.drove, self.training = (positives, negatives), [], Training()

    def remembered(self):
        return self.training

    def say(self, phase, driver="", detail=""):
        self.said = (phase.value, driver, detail)

    def labelled(self, by_chance):
        return "random" if by_chance else "operator"

    def run(self, driver, seed=None):
        self.drove.append(driver)
        positives, negatives = self.each if driver == "operator" else (0, 100)
        return Episode(True, 50, 1.0, 0, 5.0, positives=positives, negatives=negatives)

    def progress(self, training): ...
    def settle(self): ...


def run_job(crew, **config):
    labels = LabelConfig(**{"positives": 30, "negatives": 100, "random_every": 3, **config})
    return Job(JobConfig(kind="label", labels=labels), crew, lambda: 0.0).run()


def test_episodes_are_recorded_until_both_kinds_are_enough():
    crew = Crew()
    result = run_job(crew)
    assert crew.drove == ["operator", "operator", "random", "operator"]
    assert (result["positives"], result["negatives"], result["episodes"]) == (30, 220, 4)


def test_a_job_that_goes_on_counts_what_there_is():
    crew = Crew()
    crew.training.positives, crew.training.negatives = 20, 100
    run_job(crew)
    assert crew.drove == ["operator"]
    plain = Training.from_plain(crew.training.to_plain(), None)
    assert (plain.positives, plain.negatives) == (30, 140)


def test_chance_does_not_drive_where_an_operator_labels():
    crew = Crew(positives=5)
    run_job(crew, by="operator")
    assert set(crew.drove) == {"operator"}


def test_an_operator_who_never_succeeds_ends_the_job():
    with pytest.raises(JobFailed, match="0 of 30 positives, .* after 9 episodes"):
        run_job(Crew(positives=0), attempts=9)


@pytest.mark.parametrize(
    ("name", "value"), [("positives", 0), ("by", "chance"), ("stay", -1), ("stages", 2)]
)
def test_wrong_figures_are_refused_with_their_value(name, value):
    with pytest.raises(ValueError, match=f"{name} .*{value}"):
        LabelConfig(**{name: value})
