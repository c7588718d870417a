"""Takeovers on the simulated arm: what the law pulls towards does not jump, either way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_franka_bringup import graph
from serl_franka_bringup.simulation_client import load_setup

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
DOWN = np.array((0.0, 0.0, 0.5, 0.0, 0.0, 0.0))  # in the tool's frame: towards the board


@pytest.fixture
def environment() -> Environment:
    setup = load_setup(str(PCB), graph.Arguments(seed=3, observation="state"))
    made = Environment(setup.client, setup.task)
    made.reset(seed=3)
    return made


def moved(environment: Environment, action, twist=None) -> np.ndarray:
    """How far the commanded pose went down in one step [m]; twist: a person's."""
    before = environment.state.commanded_pose
    said = None if twist is None else Intervention(0, True, np.asarray(twist, float))
    environment.step(action, said)
    return (before.inverse() @ environment.state.commanded_pose).position[2]


def test_who_takes_over_at_rest_holds_what_the_law_pulls_towards(environment):
    steps = [moved(environment, DOWN) for _ in range(3)]
    lag = environment.state.tcp_pose.distance(environment.state.commanded_pose)[0]
    assert lag > 2e-4  # the arm lags, or there is nothing to show
    assert min(steps) > 5e-4
    assert abs(moved(environment, DOWN, np.zeros(6))) < 1e-6


def test_the_law_runs_on_through_a_takeover_and_back(environment):
    ordinary = [moved(environment, DOWN) for _ in range(4)]
    taken = [moved(environment, DOWN, DOWN) for _ in range(3)]
    given_back = [moved(environment, DOWN) for _ in range(2)]
    for step in (*taken, *given_back):
        assert 0.0 < step < 1.5 * max(ordinary)
