"""How the arm yields in PCB insertion, and the box it stays in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from serl_controllers.geometry import Pose
from serl_controllers.law_parameters import LawParameters, WorkspaceBox

Six = tuple[float, float, float, float, float, float]

_YAW = math.radians(20.0)


@dataclass(frozen=True)
class Compliance:
    """The part of the law's parameters that a task chooses; see LawParameters for their meaning.

    Per axis of the base frame, translation first. The error is measured minus target, so
    `clip_positive` z bounds the push downwards, here to 3000 N/m * 2 mm = 6 N.

    Attributes:
      stiffness: [N/m, N m/rad].
      damping: [N s/m, N m s/rad].
      clip_positive: [m, rad].
      clip_negative: [m, rad].
      target_time_constant: of the target filter [s].
      command_timeout: a command older than this holds the arm [s].
      box_lower: least offset from the task's target [m] and rotation vector about it [rad].
      box_upper: largest offset.
    """

    stiffness: Six = (3000.0, 3000.0, 3000.0, 75.0, 75.0, 75.0)
    damping: Six = (180.0, 180.0, 180.0, 7.0, 7.0, 7.0)
    clip_positive: Six = (0.0025, 0.0015, 0.002, 0.05, 0.014, 0.02)
    clip_negative: Six = (0.002, 0.002, 0.003, 0.05, 0.014, 0.02)
    target_time_constant: float = LawParameters.target_time_constant
    command_timeout: float = LawParameters.command_timeout
    box_lower: Six = (-0.05, -0.05, -0.005, -0.05, -0.05, -_YAW)
    box_upper: Six = (0.05, 0.05, 0.05, 0.05, 0.05, _YAW)

    def law_parameters(self, target: Pose) -> LawParameters:
        """Parameters of the law with the box about `target`, T_base_tcp.

        Raises:
          ValueError: naming the parameter, its value and the bounds.
        """
        return LawParameters(
            stiffness=self.stiffness,
            damping=self.damping,
            clip_positive=self.clip_positive,
            clip_negative=self.clip_negative,
            target_time_constant=self.target_time_constant,
            command_timeout=self.command_timeout,
            box=WorkspaceBox.about(target, self.box_lower, self.box_upper),
        )
