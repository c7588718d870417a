"""The topic `intervention` as the actor hears it: what each operator's device says."""

from __future__ import annotations

import threading
import time

import numpy as np
from rclpy.node import Node

from serl_actor.devices.device import PERSONS
from serl_actor.intervention import BASE_FRAME, TCP_FRAME, Intervention
from serl_actor.speakers import Speakers
from serl_controllers.ros_arm import ns_from_time
from serl_controllers.ros_qos import INTERVENTION
from serl_interfaces.msg import Intervention as InterventionMsg


class Operators:
    """Callbacks store and notify; the rollout's thread asks and waits.

    Attributes:
      answering: nodes there are that answer every state, and that may be waited for.
    """

    def __init__(self, node: Node, frame_id: str) -> None:
        """`frame_id` names the arm's base frame."""
        self._node = node
        self._frames = {TCP_FRAME: TCP_FRAME, frame_id: BASE_FRAME}
        self._changed = threading.Condition()
        self._speakers = Speakers()
        self.answering = 0
        self._topic = node.create_subscription(
            InterventionMsg, "intervention", self._on_message, INTERVENTION
        ).topic_name

    def look(self) -> None:
        """Sees who is there."""
        found = self._node.get_publishers_info_by_topic(self._topic)
        self.answering = sum(info.node_name not in PERSONS for info in found)

    def wait_answer(self, stamp_ns: int, timeout: float) -> Intervention | None:
        """What is said to the state of that stamp; None after `timeout` [s]."""
        with self._changed:
            self._changed.wait_for(lambda: self._speakers.answer(stamp_ns) is not None, timeout)
            return self._speakers.answer(stamp_ns)

    def driving_person(self, max_age: float) -> Intervention | None:
        """As Speakers, now."""
        with self._changed:
            return self._speakers.driving_person(max_age, time.monotonic())

    def heeded(self, max_age: float) -> Intervention | None:
        """As Speakers, now."""
        with self._changed:
            return self._speakers.heeded(max_age, time.monotonic())

    def _on_message(self, message: InterventionMsg) -> None:
        said = self._checked(message)
        if said is not None:
            with self._changed:
                self._speakers.hear(said, time.monotonic())
                self._changed.notify_all()

    def _checked(self, message: InterventionMsg) -> Intervention | None:
        """The value of a message; None, and a warning, if it cannot be used."""
        frame = self._frames.get(message.header.frame_id)
        twist = np.array(message.twist, dtype=np.float64)
        if frame is None or not np.all(np.isfinite(twist)):
            self._node.get_logger().warning(
                f"intervention of {message.device!r} dropped: twist {twist.tolist()} in frame "
                f"{message.header.frame_id!r}; expected finite numbers in one of "
                f"{list(self._frames)}",
                throttle_duration_sec=5.0,
            )
            return None
        return Intervention(
            state_stamp_ns=ns_from_time(message.state_stamp),
            active=bool(message.active),
            twist=twist,
            frame_id=frame,
            gripper=float(message.gripper),
            buttons=tuple(message.buttons),
            device=message.device,
        )
