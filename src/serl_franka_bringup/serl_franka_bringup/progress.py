"""What is known about a run: the newest metrics and status of every node. No ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Status:
    """What a node said it is doing; the fields of NodeStatus.msg."""

    phase: str
    waiting_for: str = ""
    driver: str = ""
    detail: str = ""
    received_at: float = 0.0  # steady clock [s]


WORK = (
    "actor/env_steps",
    "actor/episodes",
    "learner/demonstrations",
    "learner/online_steps",
    "learner/updates",
)
"""Metrics that grow while a run gets on; after a restart they may fall back for a while."""


@dataclass
class Progress:
    """Newest values by node, kept by the monitor and read by the view.

    `work` counts how often one of the WORK metrics exceeded all it had been before.
    """

    started_at: float  # steady clock [s]
    work: int = 0
    _most: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    statuses: dict[str, Status] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)  # deaths, restarts and other news

    def add_metrics(self, node: str, values: Mapping[str, float]) -> None:
        """Newer values of the same names replace older ones; names may begin with the node's."""
        known = self.metrics.setdefault(node, {})
        known.update({name.removeprefix(f"{node}/"): value for name, value in values.items()})
        for name in WORK:
            value = self.value(name)
            if value is not None and value > self._most.get(name, 0.0):
                self._most[name] = value
                self.work += 1

    def add_status(self, node: str, status: Status) -> None:
        """Replaces what the node said before."""
        self.statuses[node] = status

    def value(self, name: str) -> float | None:
        """The newest value of a metric written `node/name`; None before the first."""
        node, _, metric = name.partition("/")
        return self.metrics.get(node, {}).get(metric)

    def phase(self, node: str) -> str:
        """The phase a node is in; empty before its first status."""
        status = self.statuses.get(node)
        return status.phase if status else ""

    def is_up(self, node: str, since: float) -> bool:
        """The node has said since then [s] what it is doing, and not that it failed."""
        status = self.statuses.get(node)
        return status is not None and status.received_at >= since and status.phase != "failed"
