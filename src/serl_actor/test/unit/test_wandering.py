"""Chance that gets about in the task's box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import FakeArm, with_steps

from serl_actor.environment import Environment
from serl_actor.recorder import Recorder
from serl_actor.rollout import run_episode
from serl_actor.wandering import WanderingDriver
from serl_learner.types import Source


@pytest.fixture
def records(task):
    records: list = []
    arm = FakeArm(socket=None)
    environment = Environment(arm, with_steps(replace(task, threshold=(1e-9,) * 6), 400))
    run_episode(environment, WanderingDriver(task, 0), Recorder(bytes(16), "a", records.append), 0)
    return records


def test_it_gets_about_in_the_whole_box_and_is_low_most_of_the_time(task, records):
    poses = np.array([r.observation["state/tcp_pose"][:3] for r in records])
    offsets = poses * 0.05  # [m], see serl_actor.observation
    assert np.ptp(offsets[:, :2], axis=0).min() > 0.06
    assert np.mean(offsets[:, 2] < -0.025) < 0.35  # the tool's z axis points down
    assert np.ptp(offsets[:, 2]) > 0.03


def test_actions_are_chance_and_within_bounds(records):
    actions = np.array([r.action for r in records[:-1]])
    assert np.abs(actions).max() <= 1.0
    assert {r.source for r in records} == {Source.RANDOM}
    assert len(np.unique(actions, axis=0)) > 300


def test_a_gripper_does_anything(task):
    moved = replace(task, gripper="binary")
    arm = FakeArm(socket=None)
    driver = WanderingDriver(moved, 0)
    gripper = [driver.choose({}, arm.reset(moved.target, None)).action for _ in range(40)]
    assert {len(action) for action in gripper} == {7}
    assert np.ptp([action[6] for action in gripper]) > 1.5


def test_episodes_differ_by_seed_and_by_themselves(task):
    state = FakeArm(socket=None).reset(task.target, None)

    def first(driver):
        driver.begin()
        return driver.choose({}, state).action

    one = WanderingDriver(task, 0)
    assert np.array_equal(first(one), first(WanderingDriver(task, 0)))
    assert not np.array_equal(first(one), first(one))
    assert not np.array_equal(first(WanderingDriver(task, 1)), first(WanderingDriver(task, 2)))
