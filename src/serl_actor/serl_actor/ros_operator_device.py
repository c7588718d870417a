"""An operator's device on its topic: what they want, many times a second, also that they do not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Header

from serl_actor.devices.device import Device
from serl_actor.devices.teleoperation import TeleoperationConfig, Teleoperator, Wish
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown
from serl_controllers.ros_qos import INTERVENTION, STATE
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Intervention, RobotState


@dataclass(frozen=True)
class OperatorDeviceConfig:
    """Parameters of every device's node.

    Attributes:
      rate: of messages on `intervention` [Hz].
      teleoperation: how the device moves the arm.
    """

    rate: float = 50.0
    teleoperation: TeleoperationConfig = field(default_factory=TeleoperationConfig)

    def __post_init__(self) -> None:
        if not 30.0 <= self.rate <= 1000.0:
            raise ValueError(f"rate is {self.rate} Hz, expected 30 .. 1000")


Config = TypeVar("Config", bound=OperatorDeviceConfig)


class OperatorTopics:
    """Publishes what the operator wants; the message answers the newest state on arm/state."""

    def __init__(self, node: Node, device: Device, config: OperatorDeviceConfig) -> None:
        """The device is named after the node."""
        self._node = node
        self._device = device
        self._operator = Teleoperator(config.teleoperation)
        self._frame_id = config.teleoperation.frame_id
        self._state = RobotState()
        self._publisher = node.create_publisher(Intervention, "intervention", INTERVENTION)
        self._status = StatusPublisher(node)
        node.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / config.rate, self._tick, clock=steady)

    def _on_state(self, message: RobotState) -> None:
        self._state = message

    def _tick(self) -> None:
        reading = self._device.read()
        wish = self._operator.update(reading, time.monotonic())
        self._publish(wish)
        if reading is None:
            self._status.say("waiting", f"a device: {self._device.problem}")
        else:
            self._status.say("ready", detail="drives" if wish.active else "at rest")

    def _publish(self, wish: Wish) -> None:
        now = self._node.get_clock().now().to_msg()
        message = Intervention(
            header=Header(stamp=now, frame_id=self._frame_id),
            state_stamp=self._state.header.stamp,
            active=wish.active,
            twist=wish.twist,
            gripper=wish.gripper,
            buttons=wish.buttons,
            device=self._node.get_name(),
        )
        self._publisher.publish(message)


class OperatorDeviceNode(Node):
    """A device's node: its parameters, the device, and the device's topics."""

    def __init__(
        self, name: str, defaults: Config, make_device: Callable[[Config], Device], **kwargs: object
    ) -> None:
        """`make_device` gets `defaults` with the parameters given; `kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
        """
        super().__init__(name, **kwargs)
        config = declare_from(self, type(defaults), defaults=defaults)
        refuse_unknown(self)
        keep_parameters(self)
        self._device = make_device(config)
        OperatorTopics(self, self._device, config)

    def destroy_node(self) -> None:
        """Also lets go of the device."""
        self._device.close()
        super().destroy_node()
