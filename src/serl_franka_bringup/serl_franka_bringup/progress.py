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


@dataclass
class Progress:
    """Newest values by node, kept by the monitor and read by the view."""

    started_at: float  # steady clock [s]
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    statuses: dict[str, Status] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)  # deaths, restarts and other news

    def add_metrics(self, node: str, values: Mapping[str, float]) -> None:
        """Newer values of the same names replace older ones; names may begin with the node's."""
        known = self.metrics.setdefault(node, {})
        known.update({name.removeprefix(f"{node}/"): value for name, value in values.items()})

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
