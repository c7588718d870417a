"""The reference costs what SERL's update costs, and the rows say what was measured."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, random_batch, same

from serl_learner import benchmark
from serl_learner.serl_reference import NETWORKS, ReferenceAgent, sample_on_host, update_high_utd

CONFIG = replace(SMALL, hidden=(4,), critics=2, layer_norm=False, learning_rate=1e-2)

update_critic = jax.jit(lambda agent, batch: agent.update(batch, ("critic",)))


@pytest.fixture(scope="module")
def agent() -> ReferenceAgent:
    """A small reference agent that has made one whole update."""
    fresh = ReferenceAgent.create(jax.random.PRNGKey(0), 3, ACTION_DIM, CONFIG)
    return update_high_utd(fresh, random_batch(16), utd_ratio=2)[0]


def test_d39_reference_has_three_optimizers_over_the_whole_tree(agent: ReferenceAgent) -> None:
    def size(tree: object) -> int:
        return sum(np.size(leaf) for leaf in jax.tree.leaves(tree))

    assert set(agent.params) == set(NETWORKS)
    for name in NETWORKS:
        assert size(agent.optimizers[name]) - 1 == 2 * size(agent.params), name
    assert size(agent.target_params) == size(agent.params)


def test_d06_reference_moves_the_actor_in_critic_updates(agent: ReferenceAgent) -> None:
    updated, _ = update_critic(agent, random_batch(16))
    assert not same(updated.params["actor"], agent.params["actor"])


def test_reference_counts_every_update(agent: ReferenceAgent) -> None:
    # Two critic updates and one of the rest: each steps all three optimizers.
    assert [int(agent.optimizers[name][0].count) for name in NETWORKS] == [3, 3, 3]


def test_reference_learns_the_value_of_terminal_rewards(agent: ReferenceAgent) -> None:
    batch = random_batch(16) | {"terminated": np.ones(16, bool), "reward": np.ones(16, np.float32)}
    losses = []
    for _ in range(200):
        agent, loss = update_critic(agent, batch)
        losses.append(float(loss))
    assert losses[-1] < 0.05 * losses[0]


def test_host_batches_are_one_half_after_the_other() -> None:
    prior = random_batch(8) | {"reward": np.ones(8, np.float32)}
    online = random_batch(8) | {"reward": np.zeros(8, np.float32)}
    batch = sample_on_host(prior, online, np.random.default_rng(0), 12)
    assert np.asarray(batch["reward"]).tolist() == [1.0] * 6 + [0.0] * 6


def test_rates_are_of_the_fastest_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0, 24.0])  # turns of 4, 2, 2, 16 s
    monkeypatch.setattr(benchmark.time, "perf_counter", lambda: next(now))
    turns: list[str] = []
    rates = benchmark._rates(
        {"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, turns=2
    )
    assert turns == ["a", "b", "a", "b", "a", "b"]  # once to compile, then by turns
    assert rates == {"a": benchmark.UTD_RATIO / 2.0, "b": benchmark.UTD_RATIO / 2.0}


@pytest.mark.slow
def test_rows_hold_value_reference_and_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "CONFIG", CONFIG)
    monkeypatch.setattr(benchmark, "STORED", 10)
    monkeypatch.setattr(benchmark, "BATCH_SIZE", 8)
    monkeypatch.setattr(benchmark, "UTD_RATIO", 2)
    rows = benchmark.measure("all_cores", turns=1)
    assert [row["name"].rsplit("over_")[1] for row in rows] == [
        "plain_loop_all_cores",
        "serl_all_cores",
    ]
    for row in rows:
        assert row["unit"] == "1/s"
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])
