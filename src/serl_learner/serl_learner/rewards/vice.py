"""VICE: a classifier of goal images trained against what the policy makes of the world, online.

Sources: variational inverse control with events, arXiv:1805.11686; end-to-end robotic learning
with classifier rewards, arXiv:1904.07854; gradient penalty, arXiv:1704.00028; mixup,
arXiv:1710.09412.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.head import RewardHead
from serl_learner.vision.cameras import FEATURES
from serl_learner.vision.config import EncoderConfig

Features = Mapping[str, Any]
"""`features/<camera>` [B, h, w, c] of a frozen network."""
Metrics = dict[str, jax.Array]


@dataclass(frozen=True)
class ViceConfig:
    """Choices of the classifier and of when it is trained.

    enabled: rewards and terminations of what is sampled are the classifier's.
    pooling, hidden, dropout: of RewardHead.
    learning_rate: of Adam.
    batch_size: frames per update, half of them goals; even.
    first_updates: on labelled frames of both kinds, before anything is learned.
    every: blocks of the agent between two of the classifier.
    updates: of the classifier in each of these.
    label_smoothing: s turns labels 1 and 0 into 1 - s/2 and s/2.
    mixup: a of Beta(a, a), from which the share of a mixture is drawn; 0: frames are not mixed.
    gradient_penalty: weight of (|d logit / d features| - 1)^2 between frames.
    threshold: of the probability, from which a frame is a success.
    frames: so many in a row end an episode.
    """

    enabled: bool = False
    pooling: str = "flatten"
    hidden: int = 256
    dropout: float = 0.1
    learning_rate: float = 3e-4
    batch_size: int = 128
    first_updates: int = 300
    every: int = 1
    updates: int = 1
    label_smoothing: float = 0.2
    mixup: float = 1.0
    gradient_penalty: float = 0.1
    threshold: float = 0.7
    frames: int = 3

    def __post_init__(self) -> None:
        for name in ("hidden", "first_updates", "every", "updates", "frames"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is below 1")
        if self.batch_size < 2 or self.batch_size % 2:
            raise ValueError(f"batch_size {self.batch_size} is not even, half of it are goals")
        for name in ("label_smoothing", "dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} {getattr(self, name)} is not in [0, 1)")
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


def create_vice(key: jax.Array, features: Features, config: ClassifierConfig) -> Vice:
    """A fresh one for features of these shapes."""
    key, head_key = jax.random.split(key)
    params = RewardHead(config).init(head_key, features)["params"]
    return Vice(key, params, optax.adam(config.learning_rate).init(params))


@partial(jax.jit, static_argnames=("config", "classifier"))
def update(
    vice: Vice, goals: Features, others: Features, config: ViceConfig, classifier: ClassifierConfig
) -> tuple[Vice, Metrics]:
    """One step on goals and on other frames, as many of each, [B/2, h, w, c]."""
    key, *keys = jax.random.split(vice.key, 4)
    both = {name: jnp.concatenate([goals[name], others[name]]) for name in goals}
    count = len(next(iter(goals.values())))
    truth = jnp.concatenate([jnp.ones(count), jnp.zeros(count)])
    labels = smooth(truth, config.label_smoothing)
    mixed, targets = mix(keys[0], both, labels, config.mixup)

    def loss(params: Any) -> tuple[jax.Array, Metrics]:
        logit = partial(_logit, RewardHead(classifier), params)
        logits = logit(mixed, keys[1])
        entropy = optax.sigmoid_binary_cross_entropy(logits, targets).mean()
        penalty = gradient_penalty(keys[2], logit, mixed)
        said = jax.nn.sigmoid(logit(both))
        metrics = {
            "vice_loss": entropy,
            "vice_penalty": penalty,
            "vice_goals": said[:count].mean(),
            "vice_others": said[count:].mean(),
        }
        return entropy + config.gradient_penalty * penalty, metrics

    (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(vice.params)
    optimizer = optax.adam(config.learning_rate)
    change, moments = optimizer.update(gradient, vice.optimizer, vice.params)
    params = optax.apply_updates(vice.params, change)
    return vice.replace(key=key, params=params, optimizer=moments), metrics


def smooth(labels: jax.Array, smoothing: float) -> jax.Array:
    """1 -> 1 - s/2, 0 -> s/2."""
    return labels * (1.0 - smoothing) + 0.5 * smoothing


def mix(
    key: jax.Array, features: Features, labels: jax.Array, alpha: float
) -> tuple[Features, jax.Array]:
    """Every frame with another of the batch: l x + (1 - l) x', l from Beta(alpha, alpha) once.

    All cameras of a frame are mixed with those of the same other one, and so are the labels
    (D13). `alpha` 0 leaves everything as it is.
    """
    if alpha == 0.0:
        return {name: maps.astype(jnp.float32) for name, maps in features.items()}, labels
    share_key, order_key = jax.random.split(key)
    share = jax.random.beta(share_key, alpha, alpha)
    order = jax.random.permutation(order_key, len(labels))

    def mixture(x: jax.Array) -> jax.Array:
        x = x.astype(jnp.float32)
        return share * x + (1.0 - share) * x[order]

    return {name: mixture(maps) for name, maps in features.items()}, mixture(labels)


def gradient_penalty(key: jax.Array, logit: Any, features: Features) -> jax.Array:
    """Mean of (|d logit / dx| - 1)^2 at points between the two halves of a batch, the norm taken
    over the features of all cameras together (WGAN-GP, equation 3)."""
    half = len(next(iter(features.values()))) // 2
    share = jax.random.uniform(key, (half, 1, 1, 1))
    between = {k: share * x[:half] + (1.0 - share) * x[half:] for k, x in features.items()}
    slopes = jax.grad(lambda x: logit(x).sum())(between)
    squares = sum(jnp.sum(jnp.square(s), axis=(1, 2, 3)) for s in slopes.values())
    return jnp.mean(jnp.square(jnp.sqrt(squares + 1e-12) - 1.0))


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
