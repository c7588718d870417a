"""controller_manager's services: controllers and hardware interfaces, and their next states."""

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
    """Polls the lists and carries out steps, one service call each.

    Attributes:
      states: state by controller name; None: it does not answer.
      hardware: state by name of hardware interface; None: it does not answer.
    """

    def __init__(self, node: Node, calls: Calls) -> None:
        """Raises MissingPackage."""
        srv = need("controller_manager_msgs.srv")
        self._srv = srv
        self._calls = calls
        self._asked: dict[str, int] = {}  # steps begun and ended when a list was asked for
        self._steps = 0
        self.states: dict[str, str] | None = None
        self.hardware: dict[str, str] | None = None

        def client(kind: str, name: str):
            return node.create_client(getattr(srv, kind), f"{SERVICES}/{name}")

        self._list = client("ListControllers", "list_controllers")
        self._load = client("LoadController", "load_controller")
        self._configure = client("ConfigureController", "configure_controller")
        self._switch = client("SwitchController", "switch_controller")
        self._list_hardware = client("ListHardwareComponents", "list_hardware_components")
        self._set_hardware = client("SetHardwareComponentState", "set_hardware_component_state")

    def poll(self) -> None:
        """Asks for the lists, unless the answers to the last time are still awaited."""
        self._ask(self._list, self._srv.ListControllers, self._heard)
        self._ask(self._list_hardware, self._srv.ListHardwareComponents, self._heard_hardware)

    def _ask(self, client, kind, heard) -> None:
        """A list of before a step's end tells nothing of after it, whenever it arrives."""
        name, asked_at = client.srv_name, self._steps
        if self._asked.get(name) == asked_at:
            return
        self._asked[name] = asked_at

        def answered(answer, why: str) -> None:
            if self._asked.get(name) == asked_at:
                del self._asked[name]
            if self._steps == asked_at:
                heard(answer)

        self._calls.call(client, kind.Request(), LIST_TIMEOUT, answered)

    def carry_out(self, step: Step, done: Callable[[bool, str], None]) -> None:
        """Does a step for a controller or hardware interface; `done` hears whether it went well."""
        if step.action is Action.LOAD:
            client, request = self._load, self._srv.LoadController.Request(name=step.name)
        elif step.action is Action.CONFIGURE:
            client = self._configure
            request = self._srv.ConfigureController.Request(name=step.name)
        elif step.action is Action.RESTORE_HARDWARE:
            client = self._set_hardware
            request = self._srv.SetHardwareComponentState.Request(name=step.name)
            request.target_state.label = "active"
        else:
            client = self._switch
            request = self._srv.SwitchController.Request(activate_controllers=[step.name])
            request.strictness = self._srv.SwitchController.Request.STRICT
            request.timeout.sec = int(STEP_TIMEOUT)

        def answered(answer, why: str) -> None:
            self._steps += 1
            ok = answer is not None and bool(answer.ok)
            message = why or getattr(answer, "message", "")
            done(ok, "" if ok else message or "refused; the node's log says why")
            self.poll()

        self._steps += 1
        self._calls.call(client, request, STEP_TIMEOUT, answered)

    def _heard(self, answer) -> None:
        self.states = None if answer is None else {c.name: c.state for c in answer.controller}

    def _heard_hardware(self, answer) -> None:
        components = None if answer is None else answer.component
        self.hardware = None if components is None else {c.name: c.state.label for c in components}
