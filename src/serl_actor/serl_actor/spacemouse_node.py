"""A SpaceMouse as an operator's device."""

from __future__ import annotations

import time

from serl_actor.devices.device import Device
from serl_actor.devices.spacemouse import SpaceMouse
from serl_actor.devices.teleoperation import BindingsConfig, TeleoperationConfig
from serl_actor.ros_operator_device import OperatorDeviceConfig, OperatorDeviceNode
from serl_controllers.ros_main import run

DEFAULTS = OperatorDeviceConfig(
    teleoperation=TeleoperationConfig(
        bindings=BindingsConfig(
            engage=("ctrl",),
            close=("left", "shift"),
            open=("right", "alt"),
            pause=("menu", "left+right"),
            stop=("esc",),
            success=("1",),
            veto=("2",),
        )
    )
)
"""Devices of two buttons close, open, and, both at once, pause."""


class SpacemouseNode(OperatorDeviceNode):
    """Publishes what the hand on the cap wants."""

    def __init__(self, device: Device | None = None, **kwargs: object) -> None:
        """`device` in place of the one that is plugged in; `kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
        """
        super().__init__(
            "spacemouse", DEFAULTS, lambda _: device or SpaceMouse(time.monotonic), **kwargs
        )


def main() -> None:
    """Runs the node until it is interrupted."""
    run("spacemouse", SpacemouseNode)


if __name__ == "__main__":
    main()
