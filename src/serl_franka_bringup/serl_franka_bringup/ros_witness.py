"""An onlooker on a run's topics: a node of its own, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from serl_controllers.ros_qos import ACK, METRICS
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.sightings import Sightings
from serl_franka_bringup.supervisor import Death, Supervisor
from serl_interfaces.msg import Metrics, Transition, TransitionAck

# A reader that the actor does not wait for: what the witness misses is only a time.
LISTENING = QoSProfile(depth=512, reliability=ReliabilityPolicy.BEST_EFFORT)


LAST_COUNT = 10.0
"""What the learner gets to tell its counters once more at the end [s]."""


class Witness:
    """A session's companion that notes what actor and learner tell each other; sends nothing."""

    def __init__(self, sightings: Sightings) -> None:
        self._sightings = sightings
        self._counted = threading.Event()

    def begin(self, domain: int) -> None:
        """Joins the domain and listens from now on."""
        self._context = Context()
        rclpy.init(
            context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO
        )
        self._node = rclpy.create_node("witness", context=self._context)
        self._node.create_subscription(Transition, "transitions", self._on_record, LISTENING)
        self._node.create_subscription(TransitionAck, "transitions/ack", self._on_ack, ACK)
        self._node.create_subscription(Metrics, "metrics", self._on_metrics, METRICS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="witness", daemon=True)
        self._thread.start()

    def attend(self, supervisor: Supervisor, progress: Progress, deaths: Sequence[Death]) -> str:
        """It listens by itself."""
        return ""

    def end(self) -> None:
        """Waits for the learner's last counters and leaves the domain."""
        self._counted.clear()
        self._counted.wait(LAST_COUNT)
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _on_record(self, message: Transition) -> None:
        session = bytes(message.session).hex()
        now = time.monotonic()
        self._sightings.add_record(
            message.actor_id, session, int(message.seq), not message.last, now
        )

    def _on_ack(self, message: TransitionAck) -> None:
        self._sightings.add_ack(
            message.actor_id,
            bytes(message.session).hex(),
            int(message.received_seq),
            int(message.next_seq),
            int(message.updates),
            message.training,
            time.monotonic(),
        )

    def _on_metrics(self, message: Metrics) -> None:
        if message.node == "learner":
            values = zip(message.names, message.values, strict=False)
            self._sightings.add_counters({n.removeprefix("learner/"): v for n, v in values})
            self._counted.set()
