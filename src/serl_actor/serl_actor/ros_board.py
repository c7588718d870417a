"""Tells people what the actor does: status and metrics; lets the job be cancelled."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node

from serl_actor.job import Cancelled, Phase, Training
from serl_actor.policy_source import PolicySource
from serl_actor.ros_learner_link import LearnerLink
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
        self._training = Training()
        self._steps = 0
        self._online_steps = 0
        self._measured = (time.monotonic(), 0)
        self._source: PolicySource | None = None
        self._link: LearnerLink | None = None
        node.create_timer(METRICS_PERIOD, self._publish)

    def watch(self, source: PolicySource, link: LearnerLink) -> None:
        """Also reports on policy age and records under way."""
        self._source, self._link = source, link

    def cancel(self) -> None:
        """The job ends at its next step."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises Cancelled once `cancel` was called."""
        if self._cancelled.is_set():
            raise Cancelled

    def pause(self) -> None:
        """Half a second, or less if the job is cancelled meanwhile."""
        self._cancelled.wait(0.5)
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
        self._status.say(phase.value, what, detail, driver)

    def progress(self, training: Training) -> None:
        """A training episode ended."""
        self._training = training

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
        recent = list(self._training.recent)
        values = {
            "actor/env_steps": self._online_steps,
            "actor/env_steps_per_s": steps / max(seconds, 1e-9),
            "actor/episodes": self._training.episodes,
        }
        if recent:
            values["actor/success_last_20"] = self._training.success
            values["actor/return_last_20"] = sum(e.total_reward for e in recent) / len(recent)
            values["actor/length_last_20"] = sum(e.steps for e in recent) / len(recent)
            values["actor/intervened_last_20"] = sum(e.intervened for e in recent)
            values["actor/aborted_last_20"] = sum(bool(e.aborted) for e in recent)
        if self._source is not None and (age := self._source.age()) is not None:
            values["actor/policy_age"] = age
        if self._link is not None:
            values["actor/unacknowledged"] = self._link.sender.unacknowledged
        message = Metrics(
            node=self._node.get_name(),
            step=self._online_steps,
            names=list(values),
            values=[float(value) for value in values.values()],
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._metrics.publish(message)
