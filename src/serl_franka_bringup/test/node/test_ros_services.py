"""The drivers' own services, actions and topics, with servers of the real types in their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import control_msgs.action as control_action
import controller_manager_msgs.msg as cm_msg
import controller_manager_msgs.srv as cm_srv
import franka_msgs.action as franka_action
import franka_msgs.msg as franka_msg
import pytest
from rclpy.action import ActionServer
from rclpy.node import Node
from sensor_msgs.msg import JointState

from serl_controllers.ros_qos import STATE
from serl_franka_bringup.arm_steps import Action, RobotMode, Step
from serl_franka_bringup.gripper import GripperConfig, GripperOrder
from serl_franka_bringup.ros_calls import Calls
from serl_franka_bringup.ros_controller_manager import ControllerManager
from serl_franka_bringup.ros_franka import FrankaRobot
from serl_franka_bringup.ros_gripper import FrankaHand, RobotiqGripper


@dataclass
class Pair:
    """A node of ours, a node in place of the driver, and what was asked but not answered yet."""

    bench: Any  # of conftest
    ours: Node
    driver: Node
    calls: Calls = field(default_factory=Calls)

    def wait(self, condition, what: str):
        def looked():
            self.calls.look()
            return condition()

        return self.bench.wait(looked, what)

    def answer(self, ask):
        """What `ask(done)` gives to its `done`."""
        heard: list[tuple] = []
        ask(lambda *values: heard.append(values))
        return self.wait(lambda: heard and heard[0], "an answer")


@pytest.fixture
def pair(bench) -> Pair:
    return Pair(bench, bench.add(Node, "ours"), bench.add(Node, "driver"))


def serve(node: Node, kind: str, name: str, answer) -> None:
    node.create_service(getattr(cm_srv, kind), f"controller_manager/{name}", answer)


def test_controllers_are_listed_loaded_configured_and_activated(pair):
    states: dict[str, str] = {}

    def listed(_, response):
        response.controller = [cm_msg.ControllerState(name=n, state=s) for n, s in states.items()]
        return response

    def becomes(state: str):
        def answer(request, response):
            states[request.name] = state
            response.ok = True
            return response

        return answer

    def switched(request, response):
        assert request.strictness == cm_srv.SwitchController.Request.STRICT
        states[request.activate_controllers[0]] = "active"
        response.ok = True
        return response

    manager = ControllerManager(pair.ours, pair.calls)
    assert manager.states is None
    serve(pair.driver, "ListControllers", "list_controllers", listed)
    serve(pair.driver, "LoadController", "load_controller", becomes("unconfigured"))
    serve(pair.driver, "ConfigureController", "configure_controller", becomes("inactive"))
    serve(pair.driver, "SwitchController", "switch_controller", switched)
    pair.wait(lambda: (manager.poll(), manager.states == {})[1], "the list")
    used = (manager._load, manager._configure, manager._switch)
    for action in (Action.LOAD, Action.CONFIGURE, Action.ACTIVATE):
        pair.bench.wait(lambda: all(c.service_is_ready() for c in used), "services")
        ask = Step(action, "law")
        assert pair.answer(lambda done, ask=ask: manager.carry_out(ask, done)) == (True, "")
    pair.wait(lambda: (manager.poll(), manager.states == {"law": "active"})[1], "the new list")


class HeldCalls:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.held: list[tuple[str, Any]] = []

    def call(self, client, request, timeout, done) -> None:
        self.held.append((client.srv_name, done))

    def answer(self, name: str, **fields: Any) -> None:
        """To the oldest question."""
        found = next(entry for entry in self.held if entry[0].endswith(name))
        self.held.remove(found)
        found[1](SimpleNamespace(**fields), "")


def test_a_list_of_before_a_step_ended_is_not_believed(pair):
    calls = HeldCalls()
    manager = ControllerManager(pair.ours, calls)
    manager.poll()
    manager.carry_out(Step(Action.ACTIVATE, "law"), lambda *_: None)
    manager.poll()
    calls.answer("switch_controller", ok=True)
    for _ in range(2):  # both were asked for before it ended
        inactive = [SimpleNamespace(name="law", state="inactive")]
        calls.answer("list_controllers", controller=inactive)
        assert manager.states is None
    calls.answer("list_controllers", controller=[SimpleNamespace(name="law", state="active")])
    assert manager.states == {"law": "active"}


def test_hardware_interfaces_are_listed_and_activated_again(pair):
    state = {"FrankaHardwareInterface": "unconfigured"}

    def listed(_, response):
        for name, label in state.items():
            component = cm_msg.HardwareComponentState(name=name)
            component.state.label = label
            response.component.append(component)
        return response

    def restored(request, response):
        state[request.name] = request.target_state.label
        response.ok = True
        return response

    manager = ControllerManager(pair.ours, pair.calls)
    serve(pair.driver, "ListHardwareComponents", "list_hardware_components", listed)
    serve(pair.driver, "SetHardwareComponentState", "set_hardware_component_state", restored)

    def seen(label: str) -> bool:
        manager.poll()
        return manager.hardware == {"FrankaHardwareInterface": label}

    pair.wait(lambda: seen("unconfigured"), "the list")
    pair.bench.wait(manager._set_hardware.service_is_ready, "the service")
    step = Step(Action.RESTORE_HARDWARE, "FrankaHardwareInterface")
    assert pair.answer(lambda done: manager.carry_out(step, done)) == (True, "")
    pair.wait(lambda: seen("active"), "the new list")


def test_a_refused_step_says_why(pair):
    def refused(_, response):
        response.ok, response.message = False, "resource is claimed"
        return response

    manager = ControllerManager(pair.ours, pair.calls)
    serve(pair.driver, "SwitchController", "switch_controller", refused)
    pair.bench.wait(lambda: manager._switch.service_is_ready(), "the service")
    step = Step(Action.ACTIVATE, "law")
    ok, why = pair.answer(lambda done: manager.carry_out(step, done))
    assert (ok, why) == (False, "resource is claimed")


def test_a_service_that_is_not_there_is_told(pair):
    manager = ControllerManager(pair.ours, pair.calls)
    ok, why = pair.answer(lambda done: manager.carry_out(Step(Action.LOAD, "law"), done))
    assert not ok
    assert "no service" in why


def act(node: Node, kind, name: str, goals: list, succeed: bool = True) -> ActionServer:
    """An action server that keeps its goals."""

    def execute(handle):
        goals.append(handle.request)
        if succeed:
            handle.succeed()
        else:
            handle.abort()
        return kind.Result()

    return ActionServer(node, kind, name, execute)


def test_the_robots_mode_errors_and_wrench_are_read(pair):
    robot = FrankaRobot(pair.ours, pair.calls)
    publisher = pair.driver.create_publisher(
        franka_msg.FrankaRobotState, "franka_robot_state_broadcaster/robot_state", STATE
    )
    message = franka_msg.FrankaRobotState(robot_mode=4)
    message.current_errors.cartesian_reflex = True
    message.measured_joint_state.position = [0.1 * i for i in range(7)]
    message.measured_joint_state.velocity = [0.0] * 7
    message.tau_ext_hat_filtered.effort = [1.0] * 7
    message.o_f_ext_hat_k.wrench.force.z = -5.0

    def look():
        publisher.publish(message)
        return robot.look()

    seen = pair.wait(look, "the robot's state")
    assert seen.report.mode is RobotMode.REFLEX
    assert seen.report.errors == ("cartesian_reflex",)
    assert (seen.q[6], seen.tau_ext[0], seen.wrench[2]) == (pytest.approx(0.6), 1.0, -5.0)


@pytest.mark.parametrize("succeed", [True, False])
def test_errors_are_cleared_by_the_hardwares_action(pair, succeed):
    robot = FrankaRobot(pair.ours, pair.calls)
    goals: list = []
    server = act(
        pair.driver, franka_action.ErrorRecovery, "action_server/error_recovery", goals, succeed
    )
    pair.bench.wait(robot._recovery.server_is_ready, "the action")
    ok, _ = pair.answer(robot.clear_errors)
    assert ok is succeed
    assert len(goals) == 1
    server.destroy()


def test_the_franka_hand_moves_grasps_and_tells_its_opening(pair):
    hand = FrankaHand(pair.ours, pair.calls, GripperConfig(kind="franka"))
    moves: list = []
    grasps: list = []
    servers = [
        act(pair.driver, franka_action.Move, "franka_gripper/move", moves),
        act(pair.driver, franka_action.Grasp, "franka_gripper/grasp", grasps),
    ]
    pair.bench.wait(
        lambda: hand._move.server_is_ready() and hand._grasp.server_is_ready(), "the actions"
    )
    assert pair.answer(lambda done: hand.carry_out(GripperOrder(1.0), done)) == ("",)
    assert pair.answer(lambda done: hand.carry_out(GripperOrder(0.0, True), done)) == ("",)
    assert (moves[0].width, moves[0].speed) == (pytest.approx(0.08), pytest.approx(0.1))
    assert (grasps[0].width, grasps[0].force) == (0.0, pytest.approx(60.0))
    assert grasps[0].epsilon.outer == pytest.approx(0.08)

    states = pair.driver.create_publisher(JointState, "joint_states", STATE)

    def told():
        states.publish(JointState(name=["fr3_joint1"], position=[1.0]))
        fingers = ["fr3_finger_joint1", "fr3_finger_joint2"]
        states.publish(JointState(name=fingers, position=[0.01, 0.01]))
        return hand.opening

    assert pair.wait(told, "the opening") == pytest.approx(0.25)
    for server in servers:
        server.destroy()


def test_the_robotiq_takes_positions_of_its_joint(pair):
    gripper = RobotiqGripper(pair.ours, pair.calls, GripperConfig(kind="robotiq"))
    goals: list = []
    name = "robotiq_gripper_controller/gripper_cmd"
    server = act(pair.driver, control_action.ParallelGripperCommand, name, goals)
    pair.bench.wait(gripper._command.server_is_ready, "the action")
    pair.answer(lambda done: gripper.carry_out(GripperOrder(0.0, True), done))
    pair.answer(lambda done: gripper.carry_out(GripperOrder(1.0), done))
    assert [g.command.position[0] for g in goals] == [pytest.approx(0.7929), 0.0]
    states = pair.driver.create_publisher(JointState, "joint_states", STATE)

    def told():
        states.publish(JointState(name=[gripper.JOINT], position=[0.7929 / 4]))
        return gripper.opening

    assert pair.wait(told, "the opening") == pytest.approx(0.75)
    server.destroy()
