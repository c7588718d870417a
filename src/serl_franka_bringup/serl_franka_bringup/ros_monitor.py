"""Listens to the `metrics` and `status` of every node and keeps them in a Progress."""

from __future__ import annotations

import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from serl_controllers.ros_qos import METRICS, STATUS
from serl_franka_bringup.progress import Progress, Status
from serl_interfaces.msg import Metrics, NodeStatus


class Monitor:
    """A node of its own in the given ROS domain and namespace; publishes nothing."""

    def __init__(self, progress: Progress, domain: int, namespace: str = "") -> None:
        self._progress = progress
        self._context = Context()
        rclpy.init(
            args=[],  # a command line may look like remappings
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node = rclpy.create_node("monitor", namespace=namespace, context=self._context)
        self._node.create_subscription(Metrics, "metrics", self._store_metrics, METRICS)
        self._node.create_subscription(NodeStatus, "status", self._store_status, STATUS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def listen(self, duration: float) -> None:
        """Takes in messages for `duration` [s]."""
        end = time.monotonic() + duration
        while (remaining := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=remaining)

    def close(self) -> None:
        """Leaves the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _store_metrics(self, message: Metrics) -> None:
        values = dict(zip(message.names, message.values, strict=False))
        self._progress.add_metrics(message.node, {**values, "step": float(message.step)})

    def _store_status(self, message: NodeStatus) -> None:
        status = Status(
            message.phase, message.waiting_for, message.driver, message.detail, time.monotonic()
        )
        self._progress.add_status(message.node, status)
