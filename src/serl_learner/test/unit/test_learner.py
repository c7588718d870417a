"""The loop core: what is trained on, how often, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, contents, host_copy, record, same, small_learner

from serl_learner.learner import Learner, LearnerConfig
from serl_learner.types import Record, Source
from serl_learner.updates import update_high_utd
from serl_learner.validation import RejectedRecord


def episode(
    length: int, source: Source = Source.POLICY, number: int = 0, success: bool = True
) -> list[Record]:
    """`length` transitions: the records and the final one."""
    steps = [
        record(k, episode=number, source=source, terminated=success and k == length - 1)
        for k in range(length)
    ]
    final = record(length, episode=number, source=source, last=True, action=None, success=success)
    return [*steps, final]


def feed(learner: Learner, records: list[Record]) -> Learner:
    """Adds all records."""
    for item in records:
        learner.add(item)
    return learner


@pytest.fixture(scope="module")
def trained() -> Learner:
    """A learner with demonstrations and online data that has done every block due."""
    learner = feed(small_learner(), episode(5, Source.DEMO))
    feed(learner, episode(7, number=1))
    while learner.work():
        pass
    return learner


@pytest.mark.parametrize(
    ("source", "prior", "online"),
    [
        (Source.DEMO, 3, 0),
        (Source.POLICY, 0, 3),
        (Source.RANDOM, 0, 3),
        (Source.INTERVENTION, 3, 3),
        (Source.EVAL, 0, 0),
    ],
)
def test_where_a_source_goes(source: Source, prior: int, online: int) -> None:
    learner = feed(small_learner(), episode(3, source))
    assert (int(learner.prior.size), int(learner.online.size)) == (prior, online)
    assert learner.online_steps == online


def test_d03_an_intervention_goes_to_both_halves_with_its_own_successor() -> None:
    sources = [Source.POLICY, Source.INTERVENTION, Source.INTERVENTION, Source.POLICY]
    learner = small_learner()
    for step, source in enumerate(sources):
        learner.add(record(step, source=source))
    learner.add(record(4, last=True, action=None))
    assert int(learner.online.size) == 4
    prior = contents(learner.prior)
    np.testing.assert_allclose(prior["observation"]["state/b"][:, 0], [0.001, 0.002])
    np.testing.assert_allclose(prior["next_observation"]["state/b"][:, 0], [0.002, 0.003])


def test_only_demonstrations_that_succeeded_are_counted() -> None:
    learner = small_learner()
    for number, success in enumerate((True, False, True)):
        feed(learner, episode(2, Source.DEMO, number, success))
    assert learner.demonstrations == 2


def test_case01_truncation_is_stored_as_not_terminated() -> None:
    learner = small_learner()
    learner.add(record(0))
    learner.add(record(1, truncated=True))
    learner.add(record(2, last=True, action=None))
    learner.add(record(0, episode=1, terminated=True, reward=1.0))
    learner.add(record(1, episode=1, last=True, action=None, success=True))
    assert contents(learner.online)["terminated"].tolist() == [False, False, True]


@pytest.mark.parametrize("block", [1, 3, 12, 40], ids=lambda n: f"work after {n}")
def test_case14_the_ratio_is_exact_however_the_two_sides_run(block: int) -> None:
    learner = small_learner(utd_ratio=2, training_starts=4)
    learner._update = lambda agent, *_: (agent, {"critic_loss": np.float32(0.0)})
    total = 40
    for step in range(total):
        learner.add(record(step))
        while (step + 1) % block == 0 and learner.work() is not None:
            assert learner.updates <= 2 * (learner.online_steps - 4)
    learner.add(record(total, last=True, action=None))
    while learner.work() is not None:
        pass
    assert learner.online_steps == total
    assert learner.updates == 2 * (total - 4)


def test_no_update_before_training_starts() -> None:
    learner = feed(small_learner(training_starts=6), episode(6))
    assert learner.online_steps == 6
    assert learner.work() is None
    assert not learner.training


def test_in_lockstep_actors_never_wait_for_a_block_that_waits_for_them() -> None:
    learner = small_learner(max_lag=1)
    learner._update = lambda agent, *_: (agent, {})
    for step in range(30):
        assert learner.online_steps <= learner.allowed_steps()
        if learner.online_steps == learner.allowed_steps():
            assert learner.blocks_due > 0
            learner.work()
        learner.add(record(step))


BAD = {
    "missing key": {"observation": {"state/a": np.zeros(2, np.float32)}},
    "extra key": {"observation": record(0).observation | {"state/c": np.zeros(1, np.float32)}},
    "shape": {"observation": record(0).observation | {"state/a": np.zeros(3, np.float32)}},
    "dtype": {"observation": record(0).observation | {"state/a": np.zeros(2, np.float64)}},
    "NaN": {"observation": record(0).observation | {"state/a": np.float32([0.0, np.nan])}},
    "no action": {"action": None},
    "action shape": {"action": np.zeros(3, np.float32)},
    "NaN action": {"action": np.float32([0.0, np.nan])},
    "action beyond 1": {"action": np.float32([0.0, -1.01])},
    "infinite reward": {"reward": np.inf},
}
NAMED = {
    "missing key": "'state/b' is missing",
    "extra key": "'state/c'",
    "shape": r"'state/a' is \(\(3,\).*\(\(2,\)",
    "dtype": "float64.*float32",
    "NaN": "'state/a'",
    "no action": "action",
    "action shape": r"\(3,\)",
    "NaN action": "nan",
    "action beyond 1": "-1.01",
    "infinite reward": "inf",
}


@pytest.mark.parametrize("kind", BAD)
def test_case11_case12_a_bad_record_leaves_the_learner_as_it_was(
    trained: Learner, kind: str
) -> None:
    trained.add(record(0, episode=9))
    before = host_copy((trained.agent, trained.prior, trained.online))
    counters = (trained.online_steps, trained.blocks, trained.demonstrations)
    with pytest.raises(RejectedRecord, match=NAMED[kind]):
        trained.add(replace(record(1, episode=9), **BAD[kind]))
    assert same((trained.agent, trained.prior, trained.online), before)
    assert (trained.online_steps, trained.blocks, trained.demonstrations) == counters
    # The record that was open still finds its true successor.
    trained.add(record(1, episode=9, last=True, action=None))
    assert trained.online_steps == counters[0] + 1


def test_the_update_compiles_once() -> None:
    learner = feed(small_learner(), episode(9))
    learner.work()
    compiled = update_high_utd._cache_size()
    while learner.work():
        pass
    assert learner.blocks == 5
    assert update_high_utd._cache_size() == compiled


def test_one_seed_gives_one_learner() -> None:
    first, second = (feed(small_learner(seed=3), episode(7)) for _ in range(2))
    while first.work():
        second.work()
    assert same(first.agent, second.agent)


@pytest.mark.parametrize("name", ["batch_size", "utd_ratio", "max_lag", "training_starts"])
def test_bad_configuration_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} 0|{name} is 0"):
        LearnerConfig(agent=SMALL, **{name: 0})


def test_metrics_are_finite_and_named(trained: Learner) -> None:
    learner = feed(small_learner(), episode(6))
    metrics = learner.work()
    assert metrics is not None
    assert {"critic_loss", "actor_loss", "q", "temperature", "entropy"} <= metrics.keys()
    assert all(np.isfinite(value) for value in metrics.values())
    assert ACTION_DIM == learner.action_dim
