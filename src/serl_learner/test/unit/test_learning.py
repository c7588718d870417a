"""The whole loop learns a small task, the same way for the same seed."""

from __future__ import annotations

import jax
import numpy as np
from point_reach import ACTION_DIM, SPEC, demonstrator, episode, success_rate
from toy import same
from toy_loop import loop_config

from serl_learner.agents.config import SACConfig
from serl_learner.learner import Learner
from serl_learner.policy import Policy
from serl_learner.types import Source

AGENT = SACConfig(hidden=(32,), critics=2, discount=0.95, learning_rate=2e-3)
CONFIG = loop_config(AGENT)


def learn(steps: int, seed: int = 0) -> tuple[Learner, Policy]:
    """Three demonstrations, then `steps` steps of the policy, in lockstep."""
    rng = np.random.default_rng(seed)
    learner = Learner(CONFIG, SPEC, ACTION_DIM, seed)
    policy = Policy(SPEC, ACTION_DIM, AGENT)
    for number in range(3):
        episode(rng, demonstrator(rng), number, Source.DEMO, learner.add)
    key = jax.random.PRNGKey(seed)

    def choose(observation: dict[str, np.ndarray]) -> np.ndarray:
        nonlocal key
        while learner.work() is not None:
            pass
        key, sample_key = jax.random.split(key)
        return policy.sample(learner.agent.actor, observation, sample_key)

    number = 3
    while learner.online_steps < steps:
        episode(rng, choose, number, Source.POLICY, learner.add)
        number += 1
    return learner, policy


def test_it_learns_to_reach_a_point() -> None:
    learner, policy = learn(900)
    untrained = Learner(CONFIG, SPEC, ACTION_DIM, 0).agent.actor
    before = success_rate(lambda o: policy.mode(untrained, o))
    after = success_rate(lambda o: policy.mode(learner.agent.actor, o))
    assert learner.demonstrations == 3
    assert before <= 0.3
    assert after >= 0.9


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = (learn(100)[0] for _ in range(2))
    assert first.updates == second.updates > 0
    assert same((first.agent, first.online), (second.agent, second.online))
