"""The metrics writer as a node: what all publish on `metrics` goes to TensorBoard's files."""

from __future__ import annotations

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown
from serl_controllers.ros_qos import METRICS
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Metrics
from serl_learner.metrics_writer import BadMetrics, MetricsWriter, MetricsWriterConfig

WATCH_PERIOD = 0.5
"""Between two looks at what is waited for [s]."""


class MetricsWriterNode(Node):
    """Writes in the callback: a message is a kilobyte and comes about once a second."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ValueError: a parameter is wrong; names it.
        """
        super().__init__("metrics_writer", **kwargs)
        config = declare_from(self, MetricsWriterConfig)
        refuse_unknown(self)
        keep_parameters(self)
        self._writer = MetricsWriter(config, self.get_logger().warning)
        self._written = 0
        self._refusal = ""
        self._status = StatusPublisher(self)
        self.create_subscription(Metrics, "metrics", self._on_metrics, METRICS)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        self._watch()

    def destroy_node(self) -> None:
        """Closes the files as well."""
        self._writer.close()
        super().destroy_node()

    def _on_metrics(self, message: Metrics) -> None:
        stamp = message.header.stamp
        wall_time = stamp.sec + 1e-9 * stamp.nanosec
        try:
            self._written += self._writer.write(
                message.node, int(message.step), wall_time, message.names, message.values
            )
        except BadMetrics as error:
            self._refusal = str(error)
            self.get_logger().warning(f"refused: {error}", throttle_duration_sec=5.0)

    def _watch(self) -> None:
        trouble = self._writer.trouble
        waiting_for = "" if self._written else "messages on metrics"
        detail = f"last refused: {self._refusal}" if self._refusal else ""
        if trouble:
            waiting_for = f"disk space or permission: {trouble}"
            detail = f"{self._writer.lost} messages lost"
        self._status.say("failing" if trouble else "writing", waiting_for, detail)


def main() -> None:
    """Runs the node until it is interrupted."""
    run("metrics_writer", MetricsWriterNode)


if __name__ == "__main__":
    main()
