"""Hyperparameters of the agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_learner.rewards.vice import ViceConfig
from serl_learner.vision.config import EncoderConfig

ARM_DIM = 6
"""Translation and rotation of a tool."""


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
class GraspConfig:
    """The last dimension of the actions is a gripper's, chosen by a critic of its own.

    Attributes:
      enabled: policy and critics see the other dimensions alone.
      penalty: taken off the grasp critic's reward whenever the gripper closes or opens.
      epsilon: share of the steps in training at which chance chooses. A step is a tenth of a
        second: at 0.1 hardly anything would be carried for long.
      margin: what was shown is to be worth so much more than what was not, where it is imitated.
      toggle_weight: in the losses a step at which the gripper closes or opens counts as so many
        others; there are few of them.
    """

    enabled: bool = False
    penalty: float = 0.02
    epsilon: float = 0.02
    margin: float = 0.05
    toggle_weight: float = 5.0

    def __post_init__(self) -> None:
        if not self.penalty >= 0.0:
            raise ValueError(f"grasp.penalty is {self.penalty}, expected at least 0")
        if not 0.0 <= self.epsilon <= 1.0:
            raise ValueError(f"grasp.epsilon is {self.epsilon}, expected 0 .. 1")
        for name in ("margin", "toggle_weight"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"grasp.{name} is {getattr(self, name)}, expected more than 0")


@dataclass(frozen=True)
class SACConfig:
    """Hyperparameters of the agent; `encoder` and `vice` matter only with images."""

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    vice: ViceConfig = field(default_factory=ViceConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    grasp: GraspConfig = field(default_factory=GraspConfig)
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

    def check_action_dim(self, action_dim: int) -> None:
        """Raises ValueError if a grasp critic would take the arm's last dimension for a gripper."""
        if self.grasp.enabled and action_dim != ARM_DIM + 1:
            raise ValueError(
                f"action_dim is {action_dim} and agent.grasp.enabled is true, which needs "
                f"{ARM_DIM + 1}: the arm's {ARM_DIM} and the gripper's"
            )

    def arm_dim(self, action_dim: int) -> int:
        """So many of `action_dim` dimensions are the policy's; ValueError: none."""
        dim = action_dim - self.grasp.enabled
        if dim < 1:
            raise ValueError(f"grasp.enabled is true, and action_dim {action_dim} has no other")
        return dim

    @property
    def grasp_range(self) -> tuple[float, float] | None:
        """As `target_range`, for a gripper that moves at most now: from then on it may stay as it
        is, which costs nothing."""
        low_high = self.target_range
        return None if low_high is None else (low_high[0] - self.grasp.penalty, low_high[1])

    @property
    def target_range(self) -> tuple[float, float] | None:
        """Possible returns of an episode that ends with its one reward; None: not clipped."""
        return self.reward_range if self.target_clip else None
