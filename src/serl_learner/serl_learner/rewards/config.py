"""How a reward classifier is built, trained and judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from serl_learner.vision.config import EncoderConfig


@dataclass(frozen=True)
class ClassifierConfig:
    """Choices of the classifier and of its training.

    encoder: the frozen network and its pooling; `crops`, `pad` and `colour_jitter` augment what is
      trained on. Latent codes, film and stacks are the agent's and do not matter here.
    classes: 2: is it solved or not; more: stages of a task, of which the last is solved.
    members: classifiers trained from different beginnings, whose probabilities are averaged: what
      one alone is wrong about counts less.
    hidden: width of the layer between the pooled features and the logits.
    dropout: of that layer while training.
    learning_rate: of Adam.
    batch_size: frames per update, of every class as many.
    updates: of training.
    held_out: share of the episodes that only judge, > 0 and < 1.
    false_positive_rate: of frames that are not solved, at most so many may be called solved; this
      chooses the threshold.
    frames: consecutive frames over the threshold that make a success.
    """

    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(colour_jitter=0.1))
    classes: int = 2
    members: int = 3
    hidden: int = 256
    dropout: float = 0.1
    learning_rate: float = 3e-4
    batch_size: int = 128
    updates: int = 500
    held_out: float = 0.2
    false_positive_rate: float = 0.01
    frames: int = 3

    def __post_init__(self) -> None:
        if not self.encoder.frozen:
            raise ValueError(f"encoder {self.encoder.kind!r} is not a frozen network")
        ones = dict.fromkeys(("members", "hidden", "updates", "frames"), 1)
        limits = {"classes": 2, "batch_size": self.classes, **ones}
        for name, least in limits.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)} is below {least}")
        for name in ("held_out", "false_positive_rate"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name} {getattr(self, name)} is not in (0, 1)")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0.0):
            raise ValueError(f"learning_rate {self.learning_rate} is not above 0")
