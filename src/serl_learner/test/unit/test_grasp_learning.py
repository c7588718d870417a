"""The whole loop learns to close, carry and let go; by reward, by cloning, and after a restart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from grasp_toy import ACTION_DIM, SPEC, demonstrator, episode, success_rate
from toy import host_copy, same
from toy_loop import loop_config

from serl_learner import checkpoint
from serl_learner.agents.config import GraspConfig, ImitationConfig, SACConfig
from serl_learner.bc import BCConfig
from serl_learner.bc import clone as clone_baseline
from serl_learner.cloning import WarmStartConfig
from serl_learner.learner import Learner, LearnerConfig, agent_shapes
from serl_learner.policy import Policy
from serl_learner.types import Record, Source

AGENT = SACConfig(
    hidden=(32,),
    critics=2,
    discount=0.95,
    learning_rate=2e-3,
    grasp=GraspConfig(enabled=True),
    imitation=ImitationConfig(enabled=True),
)
CONFIG = loop_config(AGENT)
DEMONSTRATIONS = 5


def shown(count: int, noise: float = 0.2) -> list[Record]:
    rng = np.random.default_rng(0)
    records: list[Record] = []
    for number in range(count):
        episode(rng, demonstrator(rng, noise), number, Source.DEMO, records.append)
    return records


def learn(learner: Learner, steps: int, seed: int = 0) -> list[bool]:
    """Goes on in lockstep; the episodes' success."""
    rng, policy = np.random.default_rng(seed), Policy(SPEC, ACTION_DIM, learner.config.agent)
    key = jax.random.PRNGKey(seed)

    def choose(observation: dict[str, np.ndarray]) -> np.ndarray:
        nonlocal key
        while learner.work() is not None:
            pass
        key, sample_key = jax.random.split(key)
        return policy.sample(learner.policy_params(), observation, sample_key)

    number, successes = DEMONSTRATIONS, []
    while learner.online_steps < steps:
        successes.append(episode(rng, choose, number, Source.POLICY, learner.add))
        number += 1
    return successes


def taught(config: LearnerConfig = CONFIG) -> Learner:
    learner = Learner(config, SPEC, ACTION_DIM, 0)
    for record in shown(DEMONSTRATIONS):
        learner.add(record)
    return learner


@pytest.mark.slow
def test_it_learns_when_to_close_and_when_to_open() -> None:
    successes = learn(taught(), 900)
    assert np.mean(successes[:5]) <= 0.4
    assert np.mean(successes[-20:]) >= 0.7


def test_a_clone_closes_and_opens_as_was_shown() -> None:
    config = BCConfig(AGENT, learning_rate=3e-3, batch_size=64, patience=5, max_updates=800)
    params, _ = clone_baseline(shown(40), SPEC, ACTION_DIM, config, jax.random.PRNGKey(0))
    policy = Policy(SPEC, ACTION_DIM, AGENT)
    assert success_rate(lambda o: policy.mode(params, o)) >= 0.8


def test_a_warm_start_is_a_clone_as_well() -> None:
    warm = WarmStartConfig(enabled=True, updates=500, demonstrations=DEMONSTRATIONS)
    learner = taught(replace(CONFIG, warm_start=warm))
    while learner.warm_start_due:
        learner.work()
    policy = Policy(SPEC, ACTION_DIM, AGENT)
    params = learner.policy_params()
    assert success_rate(lambda o: policy.mode(params, o)) >= 0.6


def test_what_goes_on_from_a_checkpoint_is_what_never_stopped(tmp_path: Path) -> None:
    learner = taught()
    learn(learner, 80)
    path = checkpoint.write(tmp_path, checkpoint.take(learner, 1, {}))
    restored = checkpoint.load_agent(path, agent_shapes(CONFIG, SPEC, ACTION_DIM))
    assert same(host_copy(restored), host_copy(learner.agent))
    blocks, at_once = learner.blocks, host_copy(restored)
    learn(learner, 100)
    again = taught()
    learn(again, 80)
    again.agent = jax.tree.map(jax.numpy.asarray, at_once)
    assert again.blocks == blocks
    learn(again, 100)
    assert learner.blocks > blocks
    assert same(again.agent, learner.agent)
    assert again.agent.grasp is not None
