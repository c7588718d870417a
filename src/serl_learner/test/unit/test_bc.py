"""Cloning: what is held out, when it ends, and that it imitates."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from point_reach import ACTION_DIM, SPEC, demonstrator, episode, success_rate

from serl_learner.agents.config import SACConfig
from serl_learner.bc import BCConfig, clone, split
from serl_learner.policy import Policy
from serl_learner.types import Record, Source

CONFIG = BCConfig(
    policy=SACConfig(hidden=(32,)),
    learning_rate=3e-3,
    batch_size=64,
    patience=10,
    held_out=0.2,
    evaluation_period=50,
)
KEY = jax.random.PRNGKey(0)


def demonstrations(count: int, noise: float = 0.2, seed: int = 0) -> list[Record]:
    """Records of `count` episodes of the demonstrator."""
    rng = np.random.default_rng(seed)
    records: list[Record] = []
    for number in range(count):
        episode(rng, demonstrator(rng, noise), number, Source.DEMO, records.append)
    return records


def test_a_clone_does_what_was_demonstrated() -> None:
    params, metrics = clone(demonstrations(20), SPEC, ACTION_DIM, CONFIG, KEY)
    policy = Policy(SPEC, ACTION_DIM, CONFIG.policy)
    fresh = [r for r in demonstrations(5, seed=1) if r.action is not None]
    errors = [policy.mode(params, r.observation) - r.action for r in fresh]
    assert np.mean(np.abs(errors)) < 0.2  # the noise alone: about 0.1
    assert success_rate(lambda observation: policy.mode(params, observation)) >= 0.9
    assert metrics["held_out_loss"] < 0.5 * ACTION_DIM * np.log(2.0)  # of a uniform guess: 1.39


def test_it_ends_by_patience_and_keeps_the_best() -> None:
    config = replace(CONFIG, patience=3)
    params, metrics = clone(demonstrations(4), SPEC, ACTION_DIM, config, KEY)
    assert metrics["updates"] == metrics["best_update"] + 3 * 50
    assert metrics["updates"] < config.max_updates
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(params))


def test_max_updates_is_the_limit() -> None:
    config = replace(CONFIG, max_updates=100)
    assert clone(demonstrations(4), SPEC, ACTION_DIM, config, KEY)[1]["updates"] == 100


def test_whole_episodes_are_held_out() -> None:
    records = demonstrations(10)
    train, held_out = split(records, 0.2, KEY)
    lengths = [sum(r.episode == n and r.action is not None for r in records) for n in range(10)]
    assert len(train) + len(held_out) == sum(lengths)
    hit = {r.episode for r in held_out}
    assert len(hit) == 2
    assert hit.isdisjoint(r.episode for r in train)
    assert len(held_out) == sum(lengths[n] for n in hit)


def test_a_single_episode_is_split_by_records() -> None:
    records = [r for r in demonstrations(1) if r.action is not None]
    train, held_out = split(records, 0.5, KEY)
    assert len(train) == len(records) - round(0.5 * len(records))
    assert len(held_out) == round(0.5 * len(records))


def test_too_few_examples_are_named() -> None:
    with pytest.raises(ValueError, match="1 examples"):
        split(demonstrations(1)[:1], 0.1, KEY)


@pytest.mark.parametrize(("name", "value"), [("held_out", 0.0), ("patience", 0)])
def test_bad_configuration_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} {value}"):
        BCConfig(**{name: value})
