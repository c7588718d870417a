"""Services and actions asked without waiting: an answer, a failure or a timeout calls back."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.client import Client

Done = Callable[[Any, str], None]
"""Takes the answer (None if there is none) and why there is none (empty if there is one)."""


class MissingPackage(ValueError):
    """A ROS package that this robot needs and this machine lacks; names it for apt."""


def need(module: str) -> ModuleType:
    """A module of a ROS package that not every installation has.

    Raises:
      MissingPackage: says what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingPackage(
            f"ROS package {package} is not installed (ros-jazzy-{package.replace('_', '-')}); "
            "docs/hardware.md says where each package of the real arm comes from"
        ) from error


class Calls:
    """What was asked and is not answered yet. `look` must be called now and then."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[float, str, Done, Callable[[], None]]] = {}
        self._count = 0

    def call(self, client: Client, request: Any, timeout: float, done: Done) -> None:
        """Asks a service; at most `timeout` [s] later `done` is called, once."""
        if not client.service_is_ready():
            done(None, f"no service {client.srv_name}")
            return
        future = client.call_async(request)
        number = self._add(
            timeout, client.srv_name, done, lambda: client.remove_pending_request(future)
        )
        future.add_done_callback(lambda f: self._answer(number, f))

    def act(self, client: ActionClient, goal: Any, timeout: float, done: Done) -> None:
        """Sends a goal; `done` gets its result when it succeeded."""
        name = client._action_name
        if not client.server_is_ready():
            done(None, f"no action {name}")
            return
        number = self._add(timeout, name, done, lambda: None)
        client.send_goal_async(goal).add_done_callback(lambda f: self._accepted(number, f))

    def look(self) -> None:
        """Gives up what took too long."""
        now = time.monotonic()
        for number, (deadline, name, _, give_up) in list(self._open.items()):
            if now > deadline:
                give_up()
                self._end(number, None, f"no answer from {name} in time")

    def _add(self, timeout: float, name: str, done: Done, give_up: Callable[[], None]) -> int:
        self._count += 1
        self._open[self._count] = (time.monotonic() + timeout, name, done, give_up)
        return self._count

    def _accepted(self, number: int, future: Any) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self._end(number, None, "the goal was rejected")
            return
        handle.get_result_async().add_done_callback(lambda f: self._ended(number, f))

    def _ended(self, number: int, future: Any) -> None:
        response = future.result()
        if response.status == GoalStatus.STATUS_SUCCEEDED:
            self._end(number, response.result, "")
        else:
            why = getattr(response.result, "error", "") or "it did not succeed"
            self._end(number, None, why)

    def _answer(self, number: int, future: Any) -> None:
        self._end(number, future.result(), "")

    def _end(self, number: int, answer: Any, why: str) -> None:
        entry = self._open.pop(number, None)
        if entry is not None:
            entry[2](answer, why)
