"""Tells people what the actor does: status and metrics; lets the job be cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from serl_actor.job import Cancelled, Phase
from serl_actor.training import Training, intervention_metrics
from serl_controllers.ros_qos import METRICS
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Metrics
from serl_learner.types import Record, Source

METRICS_PERIOD = 1.0
"""Between two messages on `metrics` [s]."""


class RosBoard:
    """Implements crew.Board. Called from the rollout's thread; a timer publishes."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._status = StatusPublisher(node)
        self._metrics = node.create_publisher(Metrics, "metrics", METRICS)
        self._cancelled = threading.Event()
        self._said = (Phase.STARTING, "", "")
        self._waits = False
        self._recent: dict[str, float] = {}
        self._sources: list[Callable[[], Mapping[str, float | None]]] = []
        self._steps = 0
        self._online_steps = 0
        self._measured = (time.monotonic(), 0)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(METRICS_PERIOD, self._publish, clock=steady)

    def add_metrics(self, source: Callable[[], Mapping[str, float | None]]) -> None:
        """Also publishes what `source` returns then; None: not known yet."""
        self._sources.append(source)

    def cancel(self) -> None:
        """The job ends at its next step."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises Cancelled once `cancel` was called."""
        if self._cancelled.is_set():
            raise Cancelled

    def pause(self, seconds: float = 0.5) -> None:
        """So long, or less if the job is cancelled meanwhile."""
        self._cancelled.wait(seconds)
        self.check()

    def status(self, phase: Phase, driver: str, detail: str) -> None:
        """What is being done."""
        self._said, self._waits = (phase, driver, detail), False
        self._status.say(phase.value, "", detail, driver)

    def waiting(self, what: str) -> None:
        """Something is waited for; said until the next step."""
        self.check()
        phase, driver, detail = self._said
        self._waits = True
        self._node.get_logger().info(f"waiting for {what}", throttle_duration_sec=5.0)
        self._status.say(phase.value, what, detail, driver)

    def progress(self, training: Training) -> None:
        """An episode of warm-up or training ended."""
        self._online_steps = training.env_steps
        values: dict[str, float] = {"episodes": training.episodes}
        if recent := training.recent:
            values["success_last_20"] = training.success
            values["alone_last_20"] = training.alone
            values["return_last_20"] = sum(e.total_reward for e in recent) / len(recent)
            values["length_last_20"] = sum(e.steps for e in recent) / len(recent)
            known = [e.true_success for e in recent if e.true_success is not None]
            if known:
                values["true_success_last_20"] = sum(known) / len(known)
            values |= intervention_metrics(recent)
        self._recent = values

    def step(self, record: Record) -> None:
        """A record went out."""
        if record.last:
            return
        self._steps += 1
        self._online_steps += record.source not in (Source.DEMO, Source.EVAL)
        if self._waits:
            self.status(*self._said)

    def _publish(self) -> None:
        now = (time.monotonic(), self._steps)
        seconds, steps = (new - old for new, old in zip(now, self._measured, strict=True))
        self._measured = now
        values: dict[str, float | None] = {
            "env_steps": self._online_steps,
            "env_steps_per_s": steps / max(seconds, 1e-9),
            "episodes": 0,
            **self._recent,
        }
        for source in self._sources:
            values.update(source())
        known = {f"actor/{name}": float(v) for name, v in values.items() if v is not None}
        message = Metrics(
            node=self._node.get_name(),
            step=self._online_steps,
            names=list(known),
            values=list(known.values()),
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._metrics.publish(message)
