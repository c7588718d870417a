"""Small networks, layouts and records that the tests share."""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import numpy as np

from serl_learner.agents.config import SACConfig
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.replay import Ring
from serl_learner.types import ObservationSpec, Record

ACTION_DIM = 2
SPEC: ObservationSpec = {"state/a": ((2,), "float32"), "state/b": ((1,), "float32")}
SMALL = SACConfig(hidden=(8,), critics=3, critic_subset=2)


def record(step: int, *, value: float | None = None, **fields: Any) -> Record:
    """A record whose observation and action hold `value` (default: its step) / 1000."""
    number = np.float32((step if value is None else value) / 1000.0)
    defaults: dict[str, Any] = {
        "session": b"s" * 16,
        "seq": step,
        "episode": 0,
        "step": step,
        "observation": {
            "state/a": np.full(2, number, np.float32),
            "state/b": np.full(1, number, np.float32),
        },
        "action": np.full(ACTION_DIM, number, np.float32),
    }
    return Record(**(defaults | fields))


def small_learner(seed: int = 0, agent: SACConfig = SMALL, **config: Any) -> Learner:
    """A learner of small networks and small replay."""
    defaults = {"batch_size": 8, "training_starts": 4, "utd_ratio": 2}
    sizes = {"replay_bytes": 2**16, "prior_bytes": 2**14}
    return Learner(
        LearnerConfig(agent=agent, **(defaults | sizes | config)), SPEC, ACTION_DIM, seed
    )


def random_batch(size: int = 8, seed: int = 0) -> dict[str, Any]:
    """Random transitions of SPEC; every other one is terminal."""
    rng = np.random.default_rng(seed)

    def observation() -> dict[str, np.ndarray]:
        return {
            key: rng.normal(size=(size, *shape)).astype(np.float32)
            for key, (shape, _) in SPEC.items()
        }

    return {
        "observation": observation(),
        "next_observation": observation(),
        "action": rng.uniform(-1, 1, (size, ACTION_DIM)).astype(np.float32),
        "reward": rng.uniform(0, 1, size).astype(np.float32),
        "terminated": np.arange(size) % 2 == 0,
    }


def same(first: Any, second: Any) -> bool:
    """Both trees hold the same bits."""
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def fingerprint(tree: Any) -> str:
    """Hash of the bits that a tree holds: to compare it with one of another process."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()


def host_copy(tree: Any) -> Any:
    """A copy that no donated buffer can change."""
    return jax.tree.map(np.array, tree)


def transition(number: int) -> dict[str, Any]:
    """A transition that holds `number` / 1000 everywhere, its successor one more."""
    first, second = record(number), record(number + 1)
    return {
        "observation": first.observation,
        "next_observation": second.observation,
        "action": first.action,
        "reward": np.float32(number / 1000.0),
        "terminated": np.bool_(number % 2),
    }


def contents(ring: Ring) -> dict[str, Any]:
    """All that a ring holds, [size, ...], in the order of its slots."""
    return jax.tree.map(lambda leaf: np.array(leaf)[: int(ring.size)], ring.data)
