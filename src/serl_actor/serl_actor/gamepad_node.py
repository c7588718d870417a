"""A gamepad as an operator's device: over ROS's joy node, or read by this one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Joy

from serl_actor.devices.evdev_port import open_gamepad
from serl_actor.devices.gamepad import AnyGamepad, GamepadMapConfig, JoyGamepad, PortGamepad
from serl_actor.devices.teleoperation import BindingsConfig, TeleoperationConfig
from serl_actor.ros_operator_device import OperatorDeviceConfig, OperatorTopics
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown


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


class GamepadNode(Node):
    """Publishes what the hands on the sticks want; hears `joy`."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
        """
        super().__init__("gamepad", **kwargs)
        config = declare_from(self, GamepadNodeConfig, defaults=DEFAULTS)
        refuse_unknown(self)
        keep_parameters(self)
        self._joy = JoyGamepad(config.map, time.monotonic)
        port = PortGamepad(config.map, time.monotonic, open_gamepad)
        self._device = AnyGamepad(self._joy, port, time.monotonic)
        self.create_subscription(
            Joy, "joy", lambda m: self._joy.hear(m.axes, m.buttons), qos_profile_sensor_data
        )
        OperatorTopics(self, self._device, config)

    def destroy_node(self) -> None:
        """Also lets go of the device."""
        self._device.close()
        super().destroy_node()


def main() -> None:
    """Runs the node until it is interrupted."""
    run("gamepad", GamepadNode)


if __name__ == "__main__":
    main()
