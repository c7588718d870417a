"""What an operator says, and its conversion into an action of the policy's kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serl_controllers.geometry import Array, Pose

TCP_FRAME = "tcp"
BASE_FRAME = "base"

PAUSE = "pause"
"""Button of an operator's device: holds the arm, or lets it go on, whatever held it."""

STOP = "stop"
"""Button of an operator's device: holds the arm and ends the episode."""

SUCCESS = "success"
"""Button of an operator's device: what is seen from now on is solved, or the next stage of it."""

VETO = "veto"
"""Button of an operator's device: what was called a success is none."""

BUTTONS = (PAUSE, STOP, SUCCESS, VETO)
"""All that mean something to the actor."""


class UnknownFrame(ValueError):
    """An intervention in a frame that the environment cannot convert; names it and the known."""


@dataclass(frozen=True, eq=False)
class Intervention:
    """One reading of an operator's device.

    Attributes:
      state_stamp_ns: stamp of the arm state that it answers [ns].
      active: the operator drives.
      twist: translation and rotation [6], scaled so that 1 is an action of 1.
      frame_id: frame of the twist: TCP_FRAME or BASE_FRAME.
      gripper: -1 close .. +1 open, 0 as it is.
      buttons: names of the pressed buttons.
      device: who speaks.
    """

    state_stamp_ns: int
    active: bool
    twist: Array
    frame_id: str = TCP_FRAME
    gripper: float = 0.0
    buttons: tuple[str, ...] = ()
    device: str = ""

    def action(self, tcp_pose: Pose) -> Array:
        """The arm's action [6] in [-1, 1] in the tcp frame that the operator means.

        Translation and rotation are turned separately, by blockdiag(R, R): one never leaks into
        the other (D1). Clipped after turning, so what is stored never exceeds 1. Values that are
        not finite stay so: the environment refuses them.

        Raises:
          UnknownFrame: the twist is in neither of the two frames.
        """
        if self.frame_id == TCP_FRAME:
            twist = self.twist
        elif self.frame_id == BASE_FRAME:
            to_tcp = tcp_pose.inverse()
            twist = np.concatenate((to_tcp.rotate(self.twist[:3]), to_tcp.rotate(self.twist[3:])))
        else:
            raise UnknownFrame(
                f"intervention of {self.device!r} is in frame {self.frame_id!r}, expected "
                f"{TCP_FRAME!r} or {BASE_FRAME!r}"
            )
        return np.clip(twist, -1.0, 1.0)

    def whole_action(self, tcp_pose: Pose, action_dim: int) -> Array:
        """The action [`action_dim`] that the operator means: that of the arm and, if there are 7
        dimensions, the gripper's. Raises as `action`."""
        return np.append(self.action(tcp_pose), self.gripper)[:action_dim]
