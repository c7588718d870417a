"""Hyperparameters of the agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_learner.rewards.vice import ViceConfig
from serl_learner.vision.config import EncoderConfig


@dataclass(frozen=True)
class ImitationConfig:
    """What people did, demonstrations and corrections, draws the policy as well as the critics do.

    Critics that know little lead a cloned policy away from what it can; and a correction shows at
    once what they would take long to find (cf. arXiv:1709.10089).

    Attributes:
      enabled: the policy's loss holds the cloning loss of a batch of prior data.
      weight: of it, at the policy's first update.
      half_life: updates of the policy after which the weight is half of that.
    """

    enabled: bool = False
    weight: float = 0.1
    half_life: int = 1000

    def __post_init__(self) -> None:
        if not self.weight > 0.0:
            raise ValueError(f"imitation.weight is {self.weight}, expected more than 0")
        if self.half_life < 1:
            raise ValueError(f"imitation.half_life is {self.half_life}, expected at least 1")


@dataclass(frozen=True)
class SACConfig:
    """Hyperparameters of the agent; `encoder` and `vice` matter only with images."""

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    vice: ViceConfig = field(default_factory=ViceConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    hidden: tuple[int, ...] = (256, 256)
    activation: str = "tanh"
    layer_norm: bool = True
    critics: int = 10
    critic_subset: int = 2
    discount: float = 0.97
    polyak: float = 0.005
    learning_rate: float = 3e-4
    temperature_initial: float = 0.01
    temperature_learning_rate: float = 3e-4
    target_entropy_per_dimension: float = -0.5
    entropy_backup: bool = False
    target_clip: bool = True
    reward_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not 1 <= self.critic_subset <= self.critics:
            raise ValueError(f"critic_subset {self.critic_subset} is not in 1..{self.critics}")
        if not 0.0 <= self.discount < 1.0:
            raise ValueError(f"discount {self.discount} is not in [0, 1)")
        if not 0.0 < self.polyak <= 1.0:
            raise ValueError(f"polyak {self.polyak} is not in (0, 1]")
        if self.vice.enabled and not self.encoder.frozen:
            raise ValueError(f"vice needs a frozen network, encoder {self.encoder.kind!r} is none")

    @property
    def target_range(self) -> tuple[float, float] | None:
        """Possible returns of an episode that ends with its one reward; None: not clipped."""
        return self.reward_range if self.target_clip else None
