"""Keys of a terminal as an operator's device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from serl_actor.devices.keyboard import HELP, Keyboard, Terminal
from serl_actor.devices.teleoperation import BindingsConfig, TeleoperationConfig
from serl_actor.ros_operator_device import OperatorDeviceConfig, OperatorDeviceNode
from serl_controllers.ros_main import run


@dataclass(frozen=True)
class KeyboardNodeConfig(OperatorDeviceConfig):
    """Parameters of the node: those of every device, and the terminal.

    Attributes:
      terminal: its device file; the default is the one that the node was started from.
    """

    terminal: str = "/dev/tty"


DEFAULTS = KeyboardNodeConfig(
    teleoperation=TeleoperationConfig(
        deadband=0.0,
        bindings=BindingsConfig(
            engage=("e",),
            close=("c",),
            open=("v",),
            pause=("space",),
            stop=("esc",),
            success=("enter",),
            veto=("backspace",),
        ),
    )
)


class KeyboardNode(OperatorDeviceNode):
    """Publishes what is typed; the terminal shows nothing of it until the node ends."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
          OSError: there is no such terminal.
        """
        super().__init__("keyboard", DEFAULTS, self._make_device, **kwargs)

    def _make_device(self, config: KeyboardNodeConfig) -> Keyboard:
        device = Keyboard(Terminal(Path(config.terminal)), time.monotonic)
        self.get_logger().info(f"keys:\n{HELP}")
        return device


def main() -> None:
    """Runs the node until it is interrupted."""
    run("keyboard", KeyboardNode)


if __name__ == "__main__":
    main()
