"""Parameters of the sim node."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_sim.compliance import Compliance
from serl_sim.config import CamerasConfig, FilmConfig, SceneConfig


@dataclass(frozen=True)
class SimNodeConfig:
    """Parameters of the node.

    Attributes:
      frame_id: the arm's base frame; commands in another are refused.
      control_period: simulated time per command in lockstep [s].
      realtime: paced by the clock instead of by commands; a command older than the compliance's
        command_timeout then holds the arm.
      state_rate: of arm/state in real time [Hz].
      joint_velocity_limit: a joint reset may not be faster; that of an FR3's slowest joint [rad/s].
      cameras: what the robot sees.
      video: films of all episodes.
    """

    frame_id: str = "fr3_link0"
    control_period: float = 0.1
    realtime: bool = False
    state_rate: float = 100.0
    joint_velocity_limit: float = 2.62
    scene: SceneConfig = field(default_factory=SceneConfig)
    compliance: Compliance = field(default_factory=Compliance)
    cameras: CamerasConfig = field(default_factory=CamerasConfig)
    video: FilmConfig = field(default_factory=FilmConfig)

    def __post_init__(self) -> None:
        if not 1.0 <= self.state_rate <= 1.0 / self.scene.physics_period:
            raise ValueError(
                f"state_rate is {self.state_rate} Hz, expected 1 .. {1 / self.scene.physics_period}"
            )
