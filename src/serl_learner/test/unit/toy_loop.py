"""What the small tasks that are learned in seconds share: how they are learned, and judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from serl_learner.agents.config import SACConfig
from serl_learner.learner import LearnerConfig

Choose = Callable[[dict[str, np.ndarray]], np.ndarray]


def loop_config(agent: SACConfig) -> LearnerConfig:
    """Small batches, and updates soon."""
    return LearnerConfig(
        agent=agent,
        batch_size=32,
        utd_ratio=4,
        training_starts=50,
        replay_bytes=2**18,
        prior_bytes=2**16,
    )


def share_solved(
    episode: Callable[[np.random.Generator, Choose], bool],
    choose: Choose,
    episodes: int = 50,
    seed: int = 99,
) -> float:
    """Share of successes from fixed starts."""
    rng = np.random.default_rng(seed)
    return float(np.mean([episode(rng, choose) for _ in range(episodes)]))
