"""What an operator does: load controllers, send commands, look at the state."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rclpy
from controller_manager_msgs.srv import (
    CleanupController,
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
)
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot import BASE, CONTROLLER, PLUGIN
from std_msgs.msg import String

from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import state_from_msg, target_to_msg
from serl_controllers.ros_qos import COMMAND, STATE
from serl_interfaces.msg import ArmCommand, JointCommand, RobotState

DEADLINE = 60.0  # of anything that is waited for [s]
T = TypeVar("T")


class Operator:
    """Commands and states by topics, the rest by services."""

    def __init__(self, domain: int, process: subprocess.Popen, output: Path) -> None:
        self._process = process
        self._output = output
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("operator", context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.node.create_publisher(String, "robot_description", latched)
        self._joints = self.node.create_publisher(JointCommand, "arm/joint_command", COMMAND)
        self._commands = self.node.create_publisher(ArmCommand, "arm/command", COMMAND)
        self.node.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        self.states: list[ArmState] = []
        self.sequence = 0

    def close(self) -> None:
        self._executor.remove_node(self.node)
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def _on_state(self, message: RobotState) -> None:
        self.states.append(state_from_msg(message))

    def log(self) -> str:
        """What controller_manager has printed."""
        return self._output.read_text()

    # The robot and its controllers.

    def describe(self, urdf: str) -> None:
        """Publishes the robot description; back when controller_manager has its hardware."""
        self._description.publish(String(data=urdf))
        self.wait(lambda: self._call(ListControllers, "list_controllers"), "controller_manager")

    def start_controller(self) -> None:
        if self.controller_state() == "":
            assert self._call(LoadController, "load_controller", name=CONTROLLER).ok, self.log()
        if self.controller_state() == "unconfigured":
            answer = self._call(ConfigureController, "configure_controller", name=CONTROLLER)
            assert answer.ok, self.log()
        self.states.clear()
        assert self._switch(activate_controllers=[CONTROLLER]), self.log()
        self.wait(lambda: self.states, "a first state")

    def stop_controller(self) -> None:
        if self.controller_state() == "active":
            assert self._switch(deactivate_controllers=[CONTROLLER]), self.log()

    def clean_controller_up(self) -> None:
        assert self._call(CleanupController, "cleanup_controller", name=CONTROLLER).ok, self.log()

    def controller_state(self) -> str:
        """Its lifecycle state; empty when it is not loaded."""
        found = self._call(ListControllers, "list_controllers").controller
        kinds = {c.name: (c.type, c.state) for c in found}
        kind, state = kinds.get(CONTROLLER, (PLUGIN, ""))
        assert kind == PLUGIN
        return state

    def _switch(self, **controllers: list[str]) -> bool:
        request = {**controllers, "strictness": SwitchController.Request.STRICT}
        return self._call(SwitchController, "switch_controller", **request).ok

    def set_parameters(self, **values: Any) -> str:
        """All or nothing; the reason of a refusal, empty if there was none."""
        request = {
            "parameters": [
                Parameter(name.replace("__", "."), value=value).to_parameter_msg()
                for name, value in values.items()
            ]
        }
        kind, name = SetParametersAtomically, f"{CONTROLLER}/set_parameters_atomically"
        result = self._call(kind, name, **request).result
        return "" if result.successful else result.reason

    def _call(self, kind: type, service: str, /, **request: Any) -> Any:
        path = service if "/" in service else f"controller_manager/{service}"
        client = self.node.create_client(kind, path)
        self.wait(client.service_is_ready, f"the service {path}")
        future = client.call_async(kind.Request(**request))
        self.wait(future.done, f"an answer of {path}")
        self.node.destroy_client(client)
        return future.result()

    # The arm.

    @property
    def state(self) -> ArmState:
        return self.states[-1]

    def send(self, pose: Pose, frame: str = BASE) -> None:
        """One new command."""
        self.sequence += 1
        self._commands.publish(target_to_msg(ArmTarget(pose), self.sequence, 0, frame))

    def move_joints(self, q: tuple[float, ...], max_velocity: float, cancel: bool = False) -> None:
        self._joints.publish(JointCommand(q=q, max_velocity=max_velocity, cancel=cancel))

    def follow(self, pose: Pose, until: Callable[[], T], what: str, frame: str = BASE) -> T:
        """Sends the target at 20 Hz until the condition holds."""
        sent = 0.0

        def look() -> T:
            nonlocal sent
            if time.monotonic() - sent > 0.05:
                sent = time.monotonic()
                self.send(pose, frame)
            return until()

        return self.wait(look, what)

    def wait_for_mode(self, mode: ArmMode) -> None:
        self.wait(lambda: self.state.mode is mode, f"mode {mode.name}")

    def spin(self, seconds: float) -> list[ArmState]:
        """The states of the next seconds of the robot's time."""
        self.states.clear()
        self.wait(
            lambda: self.states and self.state.stamp - self.states[0].stamp > seconds, "states"
        )
        return list(self.states)

    def wait(self, condition: Callable[[], T], what: str) -> T:
        """Spins until the condition is true and returns its value."""
        deadline = time.monotonic() + DEADLINE
        while not (value := condition()):
            assert self._process.poll() is None, f"controller_manager died:\n{self.log()}"
            assert time.monotonic() < deadline, f"no {what} in {DEADLINE} s:\n{self.log()[-3000:]}"
            self._executor.spin_once(timeout_sec=0.02)
        return value
