"""controller_manager's services: which controllers there are, and their next state."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from serl_franka_bringup.arm_steps import Action, Step
from serl_franka_bringup.ros_calls import Calls, need

LIST_TIMEOUT = 1.0
"""Without an answer for so long, controller_manager counts as gone [s]."""

STEP_TIMEOUT = 10.0
"""Longest wait for a step [s]."""

SERVICES = "controller_manager"


class ControllerManager:
    """Polls the list and carries out steps, one service call each.

    Attributes:
      states: state by controller name; None: it does not answer.
    """

    def __init__(self, node: Node, calls: Calls) -> None:
        """Raises MissingPackage."""
        srv = need("controller_manager_msgs.srv")
        self._srv = srv
        self._calls = calls
        self._asked = False
        self.states: dict[str, str] | None = None

        def client(kind: str, name: str):
            return node.create_client(getattr(srv, kind), f"{SERVICES}/{name}")

        self._list = client("ListControllers", "list_controllers")
        self._load = client("LoadController", "load_controller")
        self._configure = client("ConfigureController", "configure_controller")
        self._switch = client("SwitchController", "switch_controller")

    def poll(self) -> None:
        """Asks for the list, unless the answer to the last time is still awaited."""
        if self._asked:
            return
        self._asked = True
        self._calls.call(self._list, self._srv.ListControllers.Request(), LIST_TIMEOUT, self._heard)

    def carry_out(self, step: Step, done: Callable[[bool, str], None]) -> None:
        """Does a step that concerns a controller; `done` hears whether it went well."""
        if step.action is Action.LOAD:
            client, request = self._load, self._srv.LoadController.Request(name=step.controller)
        elif step.action is Action.CONFIGURE:
            client = self._configure
            request = self._srv.ConfigureController.Request(name=step.controller)
        else:
            client = self._switch
            request = self._srv.SwitchController.Request(activate_controllers=[step.controller])
            request.strictness = self._srv.SwitchController.Request.STRICT
            request.timeout.sec = int(STEP_TIMEOUT)

        def answered(answer, why: str) -> None:
            ok = answer is not None and bool(answer.ok)
            message = why or getattr(answer, "message", "")
            done(ok, "" if ok else message or "refused; the node's log says why")
            self.poll()

        self._calls.call(client, request, STEP_TIMEOUT, answered)

    def _heard(self, answer, why: str) -> None:
        self._asked = False
        self.states = None if answer is None else {c.name: c.state for c in answer.controller}
