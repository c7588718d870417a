"""VICE: a classifier of goal images trained against what the policy makes of the world, online.

Sources: variational inverse control with events, arXiv:1805.11686; end-to-end robotic learning
with classifier rewards, arXiv:1904.07854; gradient penalty, arXiv:1704.00028; mixup,
arXiv:1710.09412. Where a success was called, what the policy makes of the world is unlabelled, not
negative: PURL, arXiv:1911.00459, with the risk of nnPU, arXiv:1703.00593.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax

from serl_learner.agents.adam import adam, step
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.head import Features, RewardHead
from serl_learner.rewards.risk import gradient_penalty, mix, risk
from serl_learner.vision.cameras import FEATURES
from serl_learner.vision.config import EncoderConfig

Metrics = dict[str, jax.Array]


@dataclass(frozen=True)
class ViceConfig:
    """Choices of the classifier and of when it is trained.

    enabled: rewards and terminations of what is sampled are the classifier's.
    pooling, hidden, dropout: of RewardHead.
    learning_rate: of Adam.
    batch_size: frames per update, half of them goals; even.
    labelled: share of the other half that comes from the frames labelled as not solved.
    called: share of it that comes from the frames of replay on which a success was called; the
        rest is all other replay.
    prior: share of these frames that may show the task solved at no cost; 0: each counts as not
        solved, as in VICE.
    first_updates: on labelled frames of both kinds, before anything is learned.
    every: blocks of the agent between two of the classifier.
    updates: of the classifier in each of these.
    label_smoothing: s turns labels 1 and 0 into 1 - s/2 and s/2.
    mixup: a of Beta(a, a), from which the share of a mixture is drawn; 0: frames are not mixed.
        Each is mixed with one of its own kind, for what is unlabelled has no label to mix.
    gradient_penalty: weight of (|d logit / d features| - 1)^2 between frames; VICE's is 10, and
        its mixup 1: with either, frames far from any goal were called solved (docs/rewards.md).
    threshold: of the probability, from which a frame is a success.
    frames: so many in a row end an episode.
    """

    enabled: bool = False
    pooling: str = "flatten"
    hidden: int = 256
    dropout: float = 0.1
    learning_rate: float = 3e-4
    batch_size: int = 128
    labelled: float = 0.25
    called: float = 0.25
    prior: float = 0.7
    first_updates: int = 1000
    every: int = 1
    updates: int = 1
    label_smoothing: float = 0.2
    mixup: float = 0.0
    gradient_penalty: float = 0.0
    threshold: float = 0.3
    frames: int = 3

    def __post_init__(self) -> None:
        for name in ("hidden", "first_updates", "every", "updates", "frames"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")
        if self.batch_size < 2 or self.batch_size % 2:
            raise ValueError(f"batch_size {self.batch_size} is not even, half of it are goals")
        for name in ("label_smoothing", "dropout", "labelled", "called", "prior"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} {getattr(self, name)} is not in [0, 1)")
        if not self.labelled + self.called < 1.0:
            raise ValueError(f"labelled {self.labelled} and called {self.called} leave no replay")
        if not self.learning_rate > 0.0:
            raise ValueError(f"learning_rate {self.learning_rate} is not above 0")
        for name in ("mixup", "gradient_penalty"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"{name} {getattr(self, name)} is below 0")
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold {self.threshold} is not in (0, 1)")

    def classifier(self, encoder: EncoderConfig) -> ClassifierConfig:
        """The same as a reward classifier's configuration, behind the network of `encoder`."""
        network = EncoderConfig(
            encoder.kind, encoder.weights, encoder.weights_sha256, pooling=self.pooling
        )
        return ClassifierConfig(
            encoder=network,
            members=1,
            hidden=self.hidden,
            dropout=self.dropout,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            frames=self.frames,
        )


class Vice(flax.struct.PyTreeNode):
    """Parameters of RewardHead, their optimizer, and a PRNG key of its own."""

    key: jax.Array
    params: Any
    optimizer: optax.OptState


class Drawn(NamedTuple):
    """What one update sees.

    goals, others: frames that show the task solved, and that do not, [B/2, h, w, c], [N, h, w, c].
    called: frames on which a success was called, [B/2 - N, h, w, c]; None: B/2 is N.
    any_called: bool scalar; false: there are none, and `called` are any.
    """

    goals: Features
    others: Features
    called: Features | None = None
    any_called: jax.Array | bool = False


def create_vice(key: jax.Array, features: Features, config: ClassifierConfig) -> Vice:
    """A fresh one for features of these shapes."""
    key, head_key = jax.random.split(key)
    params = RewardHead(config).init(head_key, features)["params"]
    return Vice(key, params, adam(config.learning_rate).init(params))


@partial(jax.jit, static_argnames=("config", "classifier"))
def update(
    vice: Vice, drawn: Drawn, config: ViceConfig, classifier: ClassifierConfig
) -> tuple[Vice, Metrics]:
    """One step on what was drawn."""
    key, mix_key, dropout_key, between_key = jax.random.split(vice.key, 4)
    kinds = [kind for kind in drawn[:3] if kind is not None]
    keys = jax.random.split(mix_key, len(kinds))
    mixed = [mix(k, kind, config.mixup) for k, kind in zip(keys, kinds, strict=True)]
    ends = np.cumsum([len(next(iter(kind.values()))) for kind in kinds])[:-1]
    batch = {name: jnp.concatenate([kind[name] for kind in mixed]) for name in mixed[0]}

    def loss(params: Any) -> tuple[jax.Array, Metrics]:
        logit = partial(_logit, RewardHead(classifier), params)
        logits = jnp.split(logit(batch, dropout_key), ends)
        called = logits[2] if len(logits) > 2 else jnp.zeros(0)
        count = jnp.where(drawn.any_called, len(called), 0)
        value = risk(logits[0], logits[1], called, count, config.label_smoothing, config.prior)
        metrics = {"vice_loss": value}
        said = [jax.nn.sigmoid(x).mean() for x in logits]
        metrics |= dict(zip(("vice_goals", "vice_others", "vice_called"), said))
        if config.gradient_penalty > 0.0:
            metrics["vice_penalty"] = gradient_penalty(between_key, logit, batch)
            value += config.gradient_penalty * metrics["vice_penalty"]
        return value, metrics

    (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(vice.params)
    params, moments = step(config.learning_rate, gradient, vice.optimizer, vice.params)
    return vice.replace(key=key, params=params, optimizer=moments), metrics


def judge(vice: Vice, features: Features, classifier: ClassifierConfig) -> jax.Array:
    """Probability that frames [B, h, w, c] show the task solved, [B]."""
    return jax.nn.sigmoid(_logit(RewardHead(classifier), vice.params, features))


def rewarded(
    vice: Vice, batch: Mapping[str, Any], config: ViceConfig, classifier: ClassifierConfig
) -> dict[str, Any]:
    """The batch with the classifier's rewards: 1 and terminated where the newest frame of the
    next observation is a success, 0 elsewhere.

    What was recorded as an end without success stays one.
    """
    following = batch["next_observation"]
    newest = {name: x[:, -1] for name, x in following.items() if name.startswith(FEATURES)}
    solved = judge(vice, newest, classifier) >= config.threshold
    failed = batch["terminated"] & (batch["reward"] <= 0.0)
    return {
        **batch,
        "reward": solved.astype(jnp.float32),
        "terminated": solved | failed,
    }


def _logit(
    head: RewardHead, params: Any, features: Features, dropout: jax.Array | None = None
) -> jax.Array:
    rngs = {} if dropout is None else {"dropout": dropout}
    logits: jax.Array = head.apply(
        {"params": params}, features, train=dropout is not None, rngs=rngs
    )  # type: ignore[assignment]
    return logits
