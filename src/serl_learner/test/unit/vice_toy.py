"""A small classifier for VICE, and what it begins with."""

from __future__ import annotations

import dataclasses
from typing import Any

from image_toy import FROZEN, agent_config
from reward_toy import SIZES, toy_frames

from serl_learner.agents.config import SACConfig
from serl_learner.rewards.goals import Goals, encode_goals
from serl_learner.rewards.vice import ViceConfig

QUICK = ViceConfig(
    enabled=True,
    hidden=8,
    dropout=0.0,
    learning_rate=1e-2,
    batch_size=8,
    first_updates=60,
    mixup=1.0,
    gradient_penalty=0.01,
    threshold=0.5,
)


def agent(**fields: Any) -> SACConfig:
    """A small agent with this classifier, but for `fields`."""
    return agent_config(FROZEN, vice=dataclasses.replace(QUICK, **fields))


def toy_goals() -> Goals:
    """Of easily told frames."""
    return encode_goals(toy_frames(), SIZES, QUICK, FROZEN)
