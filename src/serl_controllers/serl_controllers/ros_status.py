"""What a node is doing, said on `status` when it changes and every two seconds."""

from __future__ import annotations

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from serl_controllers.ros_qos import STATUS
from serl_interfaces.msg import NodeStatus

PERIOD = 2.0
"""Longest time between two statuses [s]."""

LOG_PERIOD = 5.0
"""Least time between two log lines about what is waited for [s]."""


class StatusPublisher:
    """Publishes the status that the node last set, and logs what it waits for.

    `say` may be called from any thread.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(NodeStatus, "status", STATUS)
        self._said: tuple[str, str, str, str] | None = None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD, self._publish, clock=steady)

    def say(self, phase: str, waiting_for: str = "", detail: str = "", driver: str = "") -> None:
        """Sets the status; published at once if it is another than before."""
        status = (phase, waiting_for, detail, driver)
        if status != self._said:
            self._said = status
            self._publish()

    def _publish(self) -> None:
        if self._said is None:
            return
        phase, waiting_for, detail, driver = self._said
        message = NodeStatus(
            node=self._node.get_name(),
            phase=phase,
            waiting_for=waiting_for,
            detail=detail,
            driver=driver,
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        if waiting_for:
            self._node.get_logger().info(
                f"waiting for {waiting_for}", throttle_duration_sec=LOG_PERIOD
            )
