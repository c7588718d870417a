"""A gamepad as an operator's device: over ROS's joy node, or read by this one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Joy

from serl_actor.devices.evdev_port import open_gamepad
from serl_actor.devices.gamepad import AnyGamepad, GamepadMapConfig, JoyGamepad, PortGamepad
from serl_actor.devices.teleoperation import BindingsConfig, TeleoperationConfig
from serl_actor.ros_operator_device import OperatorDeviceConfig, OperatorDeviceNode
from serl_controllers.ros_main import run


@dataclass(frozen=True)
class GamepadNodeConfig(OperatorDeviceConfig):
    """Parameters of the node: those of every device, and which stick moves what."""

    map: GamepadMapConfig = field(default_factory=GamepadMapConfig)


DEFAULTS = GamepadNodeConfig(
    teleoperation=TeleoperationConfig(
        deadband=0.12,
        bindings=BindingsConfig(
            engage=("guide",),
            close=("lb",),
            open=("rb",),
            pause=("start",),
            stop=("back",),
            success=("a",),
            veto=("b",),
        ),
    )
)


class GamepadNode(OperatorDeviceNode):
    """Publishes what the hands on the sticks want; hears `joy`."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
        """
        super().__init__("gamepad", DEFAULTS, self._make_device, **kwargs)

    def _make_device(self, config: GamepadNodeConfig) -> AnyGamepad:
        joy = JoyGamepad(config.map, time.monotonic)
        port = PortGamepad(config.map, time.monotonic, open_gamepad)
        self.create_subscription(
            Joy, "joy", lambda m: joy.hear(m.axes, m.buttons), qos_profile_sensor_data
        )
        return AnyGamepad(joy, port, time.monotonic)


def main() -> None:
    """Runs the node until it is interrupted."""
    run("gamepad", GamepadNode)


if __name__ == "__main__":
    main()
