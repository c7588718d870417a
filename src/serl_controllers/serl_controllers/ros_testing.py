"""What the node tests of every package share: a ROS domain of their own, nodes that they spin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from serl_controllers.domain import Domain

T = TypeVar("T")


@contextmanager
def own_domain() -> Iterator[int]:
    """A ROS domain id that no other test session and no run on this machine uses."""
    domain = Domain(Path.cwd(), environment={})
    try:
        yield domain.id
    finally:
        domain.close()


class Bench:
    """Nodes under test beside probes, driven by one executor until a condition holds."""

    def __init__(self, domain: int, deadline: float = 20.0) -> None:
        """`deadline`: longest wait for a condition [s]; on an idle machine milliseconds do."""
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.deadline = deadline
        self._executor = SingleThreadedExecutor(context=self.context)
        self._nodes: list[Node] = []

    def add(
        self,
        kind: Callable[..., Any],
        *args: Any,
        parameters: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Starts a node; `parameters` as on its command line."""
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        node = kind(*args, context=self.context, parameter_overrides=overrides, **kwargs)
        self._nodes.append(node)
        self._executor.add_node(node)
        return node

    def remove(self, node: Any) -> None:
        """Ends a node."""
        self._nodes.remove(node)
        self._executor.remove_node(node)
        node.destroy_node()

    def spin(self) -> None:
        """Takes in what is there, or waits a moment for it."""
        self._executor.spin_once(timeout_sec=0.05)

    def wait(
        self,
        condition: Callable[[], T],
        what: str,
        said: Callable[[], Any] = str,
        deadline: float | None = None,
    ) -> T:
        """Spins until `condition()` is true and returns its value; else shows `said()`.

        `deadline` [s] takes the place of the bench's own.
        """
        limit = self.deadline if deadline is None else deadline
        give_up = time.monotonic() + limit
        while not (value := condition()):
            assert time.monotonic() < give_up, f"waited {limit} s for {what}; {said()}"
            self.spin()
        return value

    def action_client(
        self, node: Node, kind: Any, name: str, deadline: float | None = None
    ) -> ActionClient:
        """A client that has found its server, for a probe.

        It is made anew a few times: once in some hundred times Fast DDS never matches a client
        with a server that it knows of.
        """
        limit = self.deadline if deadline is None else deadline
        client, made = ActionClient(node, kind, name), time.monotonic()

        def found() -> bool:
            nonlocal client, made
            if not client.server_is_ready() and time.monotonic() > made + limit / 6:
                client.destroy()
                client, made = ActionClient(node, kind, name), time.monotonic()
            return client.server_is_ready()

        self.wait(found, f"the action {name}", deadline=limit)
        return client

    def close(self) -> None:
        """Ends all nodes."""
        for node in list(self._nodes):
            self.remove(node)
        self._executor.shutdown()
        rclpy.shutdown(context=self.context)
