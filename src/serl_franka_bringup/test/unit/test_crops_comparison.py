"""Cached crops against fresh ones: what is held, what is judged, and that all begin alike."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from serl_actor.drivers import OperatorDriver
from serl_actor.environment import Environment
from serl_franka_bringup import graph
from serl_franka_bringup.critic_judge import returns
from serl_franka_bringup.crops_comparison import (
    FRESH,
    Budget,
    _narrowed,
    compare,
    hold,
    table,
    with_crops,
)
from serl_franka_bringup.noisy_expert import NoisyExpert, Recorded
from serl_franka_bringup.simulation_client import load_setup
from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.frame_encoder import input_spec
from serl_learner.types import Record, Source, spec_of

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
SMALL = SACConfig(critics=2, hidden=(8,))


def episode(number: int, steps: int, source: Source, success: bool = True) -> list[Record]:
    """Random pictures; the last step is rewarded if it was a success, else cut off."""
    rng = np.random.default_rng(number)
    records = []
    for step in range(steps + 1):
        last = step == steps
        solved = success and step == steps - 1
        observation = {
            "image/wrist": rng.integers(0, 255, (32, 32, 3)).astype(np.uint8),
            "state/tcp_pose": rng.normal(size=6).astype(np.float32),
        }
        action = None if last else rng.uniform(-1, 1, 6).astype(np.float32)
        flags = {"terminated": solved, "reward": float(solved), "last": last}
        seq = 100 * number + step
        records.append(
            Record(bytes(16), seq, number, step, observation, action, source=source, **flags)
        )
    return records


def test_returns_are_those_that_followed_and_unknown_where_it_was_cut_off():
    records = episode(0, 3, Source.POLICY) + episode(1, 2, Source.POLICY, success=False)
    found = returns(records, 0.5)
    np.testing.assert_allclose(found[:3], (0.25, 0.5, 1.0))
    assert np.isnan(found[3:]).all()
    assert len(found) == 5


def test_the_noisy_expert_stays_within_limits_and_acts_as_a_policy():
    setup = load_setup(str(PCB), graph.Arguments(observation="state"))
    environment = Environment(setup.client, setup.task)
    observation, _ = environment.reset(seed=0)
    expert = OperatorDriver(setup.client, 6)
    first = NoisyExpert(expert, 10.0, 1).choose(observation, environment.state)
    assert first.source is Source.POLICY
    assert first.intervention is None
    assert np.abs(first.action).max() == 1.0
    with pytest.raises(ValueError, match="noise is -1"):
        NoisyExpert(expert, -1.0, 1)


@pytest.mark.parametrize("wrong", [{"updates": 0}, {"batch_size": 0}, {"updates": 20}])
def test_a_budget_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        Budget(**wrong)


def test_the_table_has_a_row_for_each():
    figures = {"training_td_error": 0.1, "td_error": 0.2, "q_error": 0.3, "s_per_update": 4.0}
    lines = table([{"crops": "1", **figures}, {"crops": FRESH, **figures}]).splitlines()
    assert lines[2:] == ["| 1 | 0.1 | 0.2 | 0.3 | 4 |", "| fresh | 0.1 | 0.2 | 0.3 | 4 |"]


@pytest.mark.slow
def test_the_first_of_many_crops_are_those_of_few():
    records = episode(0, 4, Source.DEMO) + episode(1, 4, Source.POLICY)
    inputs = input_spec(spec_of(records[0].observation), SMALL.encoder)
    agent = SACAgent.create(jax.random.PRNGKey(0), inputs, 6, SMALL)
    wide = _narrowed(hold(records, with_crops(SMALL, 3), agent), 2)
    for narrowed, ring in zip(wide, hold(records, with_crops(SMALL, 2), agent), strict=True):
        assert int(ring.size) == 4
        for key, leaf in ring.frames.items():
            assert leaf.shape[1] == 2
            few, many = (np.asarray(x[:5], np.float32) for x in (leaf, narrowed.frames[key]))
            np.testing.assert_allclose(few, many, atol=1e-2)


@pytest.mark.slow
def test_all_begin_alike_and_do_the_same_updates():
    training = episode(0, 6, Source.DEMO) + episode(1, 6, Source.POLICY)
    recorded = Recorded(training, episode(2, 5, Source.POLICY))
    budget = Budget(updates=4, utd_ratio=1, batch_size=8)
    results = list(compare(recorded, SMALL, budget, (1, 2), seed=0))
    assert [result["crops"] for result in results] == ["1", "2", FRESH]
    for result in results:
        assert [point["updates"] for point in result["points"]] == [1, 2, 3, 4]
        assert np.isfinite(result["q_error"])
    first = [result["points"][0]["q_error"] for result in results]
    np.testing.assert_allclose(first, first[0], rtol=0.05)  # one update apart
