"""How a real arm goes to a start pose: lift, then go; smooth, slow and inside the box."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from serl_actor.workspace import Workspace
from serl_controllers.geometry import Pose


@dataclass(frozen=True)
class ResetMotionConfig:
    """Limits of the motion.

    Attributes:
      lift: height gained along the base's z before anything else, as far as the box goes [m].
      speed: largest speed of the tool [m/s].
      turn_speed: largest angular speed [rad/s].
      position_tolerance: distance from the start at which the arm has arrived [m].
      rotation_tolerance: angle from the start at which the arm has arrived [rad].
      settle_time: longest wait for the arm to arrive after the last target, and before the first
        for a gripper to open [s].
    """

    lift: float = 0.03
    speed: float = 0.05
    turn_speed: float = 0.3
    position_tolerance: float = 0.005
    rotation_tolerance: float = 0.03
    settle_time: float = 3.0

    def __post_init__(self) -> None:
        for name in ("speed", "turn_speed", "position_tolerance", "rotation_tolerance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} is {value}, expected more than 0")
        if not (self.lift >= 0.0 and self.settle_time >= 0.0):
            raise ValueError(f"lift {self.lift} or settle_time {self.settle_time} is below 0")

    def has_arrived(self, tool: Pose, start: Pose) -> bool:
        """Whether the tool is at the start, within the tolerances."""
        metres, angle = tool.distance(start)
        return metres <= self.position_tolerance and angle <= self.rotation_tolerance


def plan_reset(
    tool: Pose, start: Pose, workspace: Workspace, period: float, config: ResetMotionConfig
) -> Iterator[Pose]:
    """Target poses T_base_tcp, one per control period [s], from where the tool is to `start`.

    First straight up, then straight to the start while the orientation turns the short way in
    SO(3) (D15). Every target lies in the box, except on the way back into it when the tool is
    outside; none is further from the one before than the speeds allow. Ends with `start`, moved
    into the box if it is outside.
    """
    goal = workspace.clip(start)
    top = workspace.reference.position[2] + workspace.upper[2]
    height = max(tool.position[2], min(tool.position[2] + config.lift, top))
    lifted = Pose((*tool.position[:2], height), tool.quaternion)
    inside = workspace.clip(lifted)
    here = tool
    for corner in (lifted, inside, goal):
        yield from _straight(here, corner, period, config)
        here = corner


def _straight(here: Pose, there: Pose, period: float, config: ResetMotionConfig) -> Iterator[Pose]:
    metres, angle = here.distance(there)
    steps = math.ceil(max(metres / config.speed, angle / config.turn_speed) / period - 1e-9)
    for step in range(1, steps):
        yield here.interpolate(there, step / steps)
    if steps > 0:
        yield there
