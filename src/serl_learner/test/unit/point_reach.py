"""A task that a small agent learns in seconds: move a point in the plane to the origin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from toy_loop import Choose, share_solved

from serl_learner.types import ObservationSpec, Record, Source

SPEC: ObservationSpec = {"state/position": ((2,), "float32")}
ACTION_DIM = 2
STEP = 0.15
TOLERANCE = 0.1
LIMIT = 30


def episode(
    rng: np.random.Generator,
    choose: Choose,
    number: int = 0,
    source: Source = Source.POLICY,
    sink: Callable[[Record], None] = lambda record: None,
) -> bool:
    """One episode from a random start in [-1, 1]^2; whether it came within TOLERANCE."""
    position = rng.uniform(-1, 1, 2).astype(np.float32)
    success, step = False, 0
    while not success and step < LIMIT:
        observation = {"state/position": position}
        action = np.asarray(choose(observation), np.float32)
        position = np.clip(position + STEP * action, -1, 1).astype(np.float32)
        success = bool(np.all(np.abs(position) < TOLERANCE))
        sink(
            Record(
                session=b"p" * 16,
                seq=0,
                episode=number,
                step=step,
                observation=observation,
                action=action,
                reward=float(success),
                terminated=success,
                truncated=not success and step == LIMIT - 1,
                source=source,
            )
        )
        step += 1
    sink(
        Record(
            session=b"p" * 16,
            seq=0,
            episode=number,
            step=step,
            observation={"state/position": position},
            action=None,
            last=True,
            success=success,
            source=source,
        )
    )
    return success


def demonstrator(rng: np.random.Generator, noise: float = 0.4) -> Choose:
    """Goes to the origin, unsteadily."""

    def choose(observation: dict[str, np.ndarray]) -> np.ndarray:
        towards = -observation["state/position"] / STEP
        return np.clip(towards + noise * rng.normal(size=2), -1, 1)

    return choose


def success_rate(choose: Choose) -> float:
    """Share of successes from fixed starts."""
    return share_solved(episode, choose)
