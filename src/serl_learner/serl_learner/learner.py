"""The learner's loop core: records in, updates at the told ratio, policy parameters out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner import checkpoint, params_codec
from serl_learner.agents.sac import SACAgent, SACConfig
from serl_learner.params_codec import EncodedParams
from serl_learner.policy import layout_hash
from serl_learner.replay import Ring, Transition, create_ring, insert
from serl_learner.segments import SegmentJoiner, Step
from serl_learner.types import ObservationSpec, Record, Source
from serl_learner.updates import update_high_utd
from serl_learner.validation import check_record, check_reward

PRIOR_SOURCES = (Source.DEMO, Source.INTERVENTION)


@dataclass(frozen=True)
class LearnerConfig:
    """How much the learner trains on what it receives.

    Attributes:
      agent: of the algorithm.
      batch_size: transitions per update, half of them prior data; even.
      utd_ratio: critic updates per online step after `training_starts`.
      training_starts: online steps before the first update.
      max_lag: online steps that actors may be ahead of the updates due, in lockstep.
      replay_bytes: of the online ring, on the device.
      prior_bytes: of the ring of demonstrations and interventions, on the device.
    """

    agent: SACConfig = field(default_factory=SACConfig)
    batch_size: int = 128
    utd_ratio: int = 4
    training_starts: int = 200
    max_lag: int = 16
    replay_bytes: int = 256 * 2**20
    prior_bytes: int = 64 * 2**20

    def __post_init__(self) -> None:
        for name in ("batch_size", "utd_ratio", "max_lag", "training_starts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.batch_size % 2:
            raise ValueError(f"batch_size is {self.batch_size}, expected an even number")


class Learner:
    """Replay, agent and counters. `add` stores a record, `work` does one block that is due.

    A block is `utd_ratio` critic updates and one of the policy; one is due for every online step
    after `training_starts`, so the update-to-data ratio is exact however fast either side is.

    Replay is no part of a checkpoint: it is rebuilt by adding the logged records again.
    """

    def __init__(
        self, config: LearnerConfig, spec: ObservationSpec, action_dim: int, seed: int
    ) -> None:
        self.config = config
        self.spec = dict(sorted(spec.items()))
        self.action_dim = action_dim
        self.agent = SACAgent.create(jax.random.PRNGKey(seed), spec, action_dim, config.agent)
        self.layout_hash = layout_hash(self.agent.actor, spec, config.agent)
        self.online_steps = 0
        self.blocks = 0
        self.demonstrations = 0
        self.interventions = 0
        self._prior = _Feed(create_ring(spec, action_dim, config.prior_bytes))
        self._online = _Feed(create_ring(spec, action_dim, config.replay_bytes))
        self._segments = SegmentJoiner()
        self._demonstration: dict[bytes, list[Step]] = {}

    @property
    def prior(self) -> Ring:
        """Demonstrations and interventions."""
        return self._prior.ring

    @property
    def online(self) -> Ring:
        """Everything that actors did outside demonstrations and evaluation."""
        return self._online.ring

    @property
    def prior_transitions(self) -> int:
        """Transitions added to the prior data so far."""
        return self._prior.added

    @property
    def updates(self) -> int:
        """Critic updates done."""
        return self.blocks * self.config.utd_ratio

    @property
    def blocks_due(self) -> int:
        """Blocks that may be done now."""
        return max(0, self.online_steps - self.config.training_starts - self.blocks)

    @property
    def training(self) -> bool:
        """At least one update is due or done."""
        return self.blocks > 0 or self.blocks_due > 0

    @property
    def utd_ratio(self) -> float:
        """Critic updates per online step after `training_starts`, as measured; 0 before."""
        return self.updates / max(1, self.online_steps - self.config.training_starts)

    @property
    def allowance(self) -> int:
        """Online steps that actors may still make before the next block is done, >= 0."""
        allowed = self.config.training_starts + self.blocks + self.config.max_lag
        return max(0, allowed - self.online_steps)

    def add(self, record: Record) -> None:
        """Takes one record; RejectedRecord leaves everything as it was.

        Evaluation is not stored. A demonstration is stored when it ends, and only if it
        succeeded; interventions go to both halves of the data.
        """
        check_record(record, self.spec, self.action_dim)
        if self.config.agent.target_clip:
            check_reward(record, self.config.agent.reward_range)
        step = self._segments.add(record)
        if step is not None:
            self._store(step)
        if record.last:
            self._end_demonstration(record)

    def _store(self, step: Step) -> None:
        source = step.first.source
        if source == Source.DEMO:
            self._demonstration.setdefault(step.first.session, []).append(step)
            return
        if source == Source.EVAL:
            return
        if source == Source.INTERVENTION:
            self._prior.add(step)
            self.interventions += 1
        self._online.add(step)
        self.online_steps += 1

    def _end_demonstration(self, last: Record) -> None:
        steps = self._demonstration.pop(last.session, [])
        if not steps or not last.success:
            return
        for step in steps:
            self._prior.add(step)
        self.demonstrations += 1

    def work(self) -> dict[str, float] | None:
        """Does one block if it is due and returns its metrics; None if nothing is due."""
        if self.blocks_due < 1:
            return None
        self.agent, metrics = self._update(self.agent)
        self.blocks += 1
        return {name: float(value) for name, value in metrics.items()}

    def warm_up(self) -> None:
        """Compiles the update, so that the first one due does not wait for it."""
        jax.block_until_ready(self._update(jax.tree.map(jnp.copy, self.agent)))

    def _update(self, agent: SACAgent) -> tuple[SACAgent, dict[str, jax.Array]]:
        return update_high_utd(
            agent, self.prior, self.online, self.config.utd_ratio, self.config.batch_size
        )

    def policy_params(self, version: int = 0) -> EncodedParams:
        """The part of the parameters that an actor needs, as published under `version`."""
        return params_codec.encode(self.agent.actor, version, self.updates, self.layout_hash)

    def save(self, path: Path, notes: dict[str, Any] | None = None) -> None:
        """Writes agent, PRNG key and counters, all or nothing.

        Args:
          path: of the file; replaced if it is there.
          notes: anything else to keep in the header, as JSON.
        """
        counters = {"blocks": self.blocks, "online_steps": self.online_steps}
        checkpoint.save(path, self.agent, self.config, {**(notes or {}), **counters})

    def load(self, path: Path) -> dict[str, Any]:
        """Goes on from a checkpoint; replay comes from adding the logged records again.

        Returns:
          The checkpoint's notes and counters.

        Raises:
          CheckpointError: corrupt, or of another layout; names the difference.
        """
        self.agent, notes = checkpoint.load(path, self.agent)
        self.blocks = int(notes["blocks"])
        return notes


class _Feed:
    """A ring with what was added last, so that an observation is stored once (D3)."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.added = 0
        self._last: Step | None = None

    def add(self, step: Step) -> None:
        self.ring = insert(self.ring, _transition(step), continues=step.continues(self._last))
        self._last = step
        self.added += 1


def _transition(step: Step) -> Transition:
    """The transition as NumPy arrays of the ring's dtypes."""
    return {
        "observation": dict(sorted(step.first.observation.items())),
        "next_observation": dict(sorted(step.second.observation.items())),
        "action": np.asarray(step.first.action, np.float32),
        "reward": np.float32(step.first.reward),
        "terminated": np.bool_(step.first.terminated),
    }
