"""The learner's loop core: records in, updates at the told ratio, policy parameters out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np

from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.cloning import WarmStart, WarmStartConfig, clone_block, rest_block
from serl_learner.frame_encoder import FrameEncoder, input_spec
from serl_learner.frame_ring import Frame
from serl_learner.frame_slots import KeyedFrame
from serl_learner.replay import Ring
from serl_learner.replay_half import ReplayHalf
from serl_learner.rewards.goals import Goals
from serl_learner.segments import Joined, SegmentJoiner, halves
from serl_learner.types import ObservationSpec, Record, Relabel, Source
from serl_learner.updates import update_high_utd, update_vice
from serl_learner.validation import check_record, check_relabel
from serl_learner.vision.cameras import IMAGE, cameras

RULES = {"rl": update_high_utd, "hg_dagger": clone_block}
"""What a block does, by `LearnerConfig.learn`."""


@dataclass(frozen=True)
class LearnerConfig:
    """How much the learner trains on what it receives.

    `learn`: "rl" from rewards, or "hg_dagger" from what people did alone.
    """

    agent: SACConfig = field(default_factory=SACConfig)
    learn: str = "rl"
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    batch_size: int = 128
    utd_ratio: int = 4
    training_starts: int = 200
    max_lag: int = 16
    replay_bytes: int = 256 * 2**20
    prior_bytes: int = 64 * 2**20

    def __post_init__(self) -> None:
        if self.learn not in RULES:
            raise ValueError(f"learn {self.learn!r} is none of {[*RULES]}")
        for name in ("batch_size", "utd_ratio", "max_lag"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")
        if self.training_starts < 1:
            raise ValueError(f"training_starts {self.training_starts} is below 1")


class Learner:
    """Replay, agent and counters. `add` stores a record, `work` does one block that is due.

    A block is `utd_ratio` critic updates and one of the policy; one is due for every online step
    after `training_starts`, so the update-to-data ratio is exact however fast either side is.
    """

    def __init__(
        self,
        config: LearnerConfig,
        spec: ObservationSpec,
        action_dim: int,
        seed: int,
        agent: SACAgent | None = None,
        goals: Goals | None = None,
    ) -> None:
        """Goes on with `agent`; without one, begins with that of the seed. VICE needs `goals`.

        Raises WeightsError, and ValueError if replay has no room for one transition or the goals
        are of other cameras.
        """
        self.config = config
        self.spec = spec
        self.action_dim = action_dim
        self.agent = agent or create_agent(config, spec, action_dim, seed)
        self._goals: Any = self._show(goals, agent is None) if config.agent.vice.enabled else None
        encoder = config.agent.encoder
        self.frames = FrameEncoder(spec, encoder) if cameras(spec) else None
        layout = self.frames.layout if self.frames else None
        self._prior = ReplayHalf(spec, action_dim, config.prior_bytes, layout)
        self._online = ReplayHalf(spec, action_dim, config.replay_bytes, layout)
        self.online_steps = 0
        self.blocks = 0
        self.warm_start = WarmStart(config.warm_start, config.batch_size)
        self.demonstrations = 0
        self.relabelled = 0
        self._segments = SegmentJoiner(encoder.stack)
        self._sizes = {"utd_ratio": config.utd_ratio, "batch_size": config.batch_size}
        self._update: Any = partial(RULES[config.learn], **self._sizes)
        self._rest: Any = partial(rest_block, **self._sizes)

    @property
    def prior(self) -> Ring:
        """Demonstrations and interventions."""
        return self._prior.ring

    @property
    def online(self) -> Ring:
        """What the actors did, interventions among it."""
        return self._online.ring

    @property
    def prior_transitions(self) -> int:
        """Transitions that went to the prior half so far."""
        return self._prior.inserted

    @property
    def prior_dropped(self) -> int:
        """Of these, how many found no room: the oldest are overwritten."""
        return max(0, self._prior.inserted - self._prior.capacity)

    @property
    def replay_bytes(self) -> int:
        """What the transitions in both halves of replay take."""
        return self._prior.bytes_held + self._online.bytes_held

    @property
    def replay_limit(self) -> int:
        """What they may take in all [bytes]."""
        return self.config.prior_bytes + self.config.replay_bytes

    @property
    def updates(self) -> int:
        """Critic updates done."""
        return self.blocks * self.config.utd_ratio

    @property
    def blocks_due(self) -> int:
        """Blocks that may be done now."""
        return max(0, self.online_steps - self.config.training_starts) - self.blocks

    @property
    def warm_start_ahead(self) -> bool:
        """The policy is not ready to act: it is still to be cloned."""
        return self.warm_start.ahead(self.blocks)

    @property
    def warm_start_due(self) -> bool:
        """Its next part is what `work` does."""
        return self.warm_start.due(self.blocks, self.demonstrations)

    @property
    def _rests(self) -> bool:
        return self.config.learn == "rl" and self.warm_start.rests(self.blocks)

    @property
    def training(self) -> bool:
        """At least one update is due or done."""
        return self.online_steps > self.config.training_starts

    def add(self, record: Record, frame: Frame | None = None) -> None:
        """Takes one record; with `frame`, if its images were encoded before.

        Raises RejectedRecord, naming value and limit, and leaves everything as it was.
        """
        check_record(record, self.spec, self.action_dim, self.reward_range)
        if self.frames is not None and frame is not None:
            self.frames.remember(record, frame)
        joined = self._segments.add(record)
        if joined is not None:
            self._store(joined)
        if record.last and record.source == Source.DEMO and record.success:
            self.demonstrations += 1

    def _store(self, joined: Joined) -> None:
        transition = _as_arrays(joined.transition, self.frames is not None)
        to_prior, to_online = halves(joined.first.source)
        stacks: list[list[KeyedFrame]] = [[], []]
        if self.frames is not None and (to_prior or to_online):
            keyed = self.frames.keyed
            stacks = [[keyed(r) for r in rs] for rs in (joined.stack, joined.next_stack)]
        if to_prior:
            self._prior.insert(joined.first, transition, *stacks)
        if to_online:
            self._online.insert(joined.first, transition, *stacks)
            self.online_steps += 1

    def relabel(self, change: Relabel) -> None:
        """Gives records that were added before another label, as far as they are still held.

        Raises RejectedRecord, naming value and limit, and leaves everything as it was.
        """
        check_relabel(change, self.reward_range)
        self._segments.relabel(change)
        self.relabelled += self._prior.relabel(change) + self._online.relabel(change)

    def break_off(self, session: bytes) -> None:
        """The open episode of this session ended without a last record: its tail is dropped."""
        self._segments.break_off(session)

    def count_forgotten(self, prior: int, online: int) -> None:
        """As if `prior` and `online` transitions had been added before all others, and been
        overwritten since: replay has its transitions in the slots that it had then."""
        self._prior.turn_by(prior)
        self._online.turn_by(online)

    def work(self) -> dict[str, float] | None:
        """Does one block, or a part of the warm start, if it is due and returns its metrics; None
        if nothing is due."""
        if self.warm_start_due:
            self.agent, cloned = self.warm_start.go_on(self.agent, self.prior)
            return {name: float(value) for name, value in cloned.items()}
        if self.blocks_due < 1:
            return None
        metrics = self._train_vice()
        self.agent, of_agent = (self._rest if self._rests else self._update)(
            self.agent, self.prior, self.online
        )
        self.blocks += 1
        metrics |= of_agent
        return {name: float(value) for name, value in metrics.items()}

    def _show(self, goals: Goals | None, fresh: bool) -> Any:
        """Puts the goals on the device; a fresh classifier has seen labelled frames first."""
        if goals is None:
            raise ValueError("vice is enabled, but there are no goal frames")
        goals.check(self.spec)
        if fresh:  # copied: updates donate it
            self.agent = self.agent.replace(vice=jax.tree.map(jax.numpy.copy, goals.first))
        return jax.device_put((goals.solved, goals.others))

    def _train_vice(self) -> dict[str, Any]:
        """The classifier's turn, if this block is one of its own; before the agent's, so that
        both count the same blocks."""
        vice, config = self.agent.vice, self.config.agent
        if vice is None or self.blocks % config.vice.every:
            return {}
        vice, metrics = update_vice(vice, *self._goals, self.online, config)
        self.agent = self.agent.replace(vice=vice)
        return dict(metrics)

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Rewards that can be learned: targets are clipped to it; None: any."""
        return self.config.agent.target_range

    @property
    def capacities(self) -> tuple[int, int]:
        """Transitions that the prior and the online half can hold."""
        return self._prior.capacity, self._online.capacity

    def compile(self) -> None:
        """Compiles the update ahead of the first block: seconds, in any thread, while another
        one adds records."""
        agent = jax.tree.map(  # of a donated buffer, too, the shape can be read
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), self.agent
        )
        shapes = agent, self._prior.shapes, self._online.shapes
        self._update = self._update.func.lower(*shapes, **self._sizes).compile()
        if self._rests:
            self._rest = rest_block.lower(*shapes, **self._sizes).compile()

    def allowed_steps(self) -> int:
        """Online steps that actors may have made in all before the next block is done."""
        return self.config.training_starts + self.blocks + self.config.max_lag

    def policy_params(self) -> Any:
        """The part of the parameters that an actor needs."""
        return self.agent.policy_params()


def create_agent(
    config: LearnerConfig, spec: ObservationSpec, action_dim: int, seed: int
) -> SACAgent:
    """The agent that a learner of this seed begins with."""
    inputs = input_spec(spec, config.agent.encoder)
    return SACAgent.create(jax.random.PRNGKey(seed), inputs, action_dim, config.agent)


def agent_shapes(config: LearnerConfig, spec: ObservationSpec, action_dim: int) -> SACAgent:
    """Its tree with shapes and dtypes in place of arrays; nothing is computed."""
    agent: SACAgent = jax.eval_shape(lambda: create_agent(config, spec, action_dim, 0))
    return agent


def _as_arrays(transition: Any, without_images: bool) -> Any:
    def arrays(observation: Any) -> Any:
        return {
            k: np.asarray(v)
            for k, v in sorted(observation.items())
            if not (without_images and k.startswith(IMAGE))
        }

    return {
        "observation": arrays(transition["observation"]),
        "next_observation": arrays(transition["next_observation"]),
        "action": np.asarray(transition["action"], np.float32),
        "reward": np.float32(transition["reward"]),
        "terminated": np.bool_(transition["terminated"]),
    }
