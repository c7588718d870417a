"""What is seen of controller and robot decides the next step; nothing recovers unasked."""

from __future__ import annotations

import pytest

from serl_controllers.arm import ArmMode
from serl_franka_bringup.arm_steps import (
    Action,
    RobotMode,
    RobotReport,
    Step,
    SupervisionConfig,
)
from serl_franka_bringup.arm_supervision import RECOVERY_TIMEOUT, RETRY_PERIOD, ArmSupervision

HARDWARE = "FrankaHardwareInterface"
LAW, HELPER = "cartesian_impedance_controller", "joint_state_broadcaster"
FINE = RobotReport(RobotMode.IDLE)
REFLEX = RobotReport(RobotMode.REFLEX, ("cartesian_reflex",))
ACTIVATE = Step(Action.ACTIVATE, LAW)


class Bench:
    """A supervision with a controller_manager and a robot that do as they are told."""

    def __init__(self, robot_reports: bool = True) -> None:
        self.arm = ArmSupervision(SupervisionConfig(LAW, (HELPER,), robot_reports))
        self.controllers: dict[str, str] | None = {}
        self.hardware = {HARDWARE: "active"}
        self.robot = FINE if robot_reports else None
        self.law: ArmMode | None = None
        self.refuse: dict[Action, str] = {}
        self.done: list[Step] = []
        self.now = 0.0

    def run(self, seconds: float = 3.0) -> list[Step]:
        """Looks every 50 ms; the steps that were done meanwhile."""
        first = len(self.done)
        for _ in range(round(seconds / 0.05)):
            self.now += 0.05
            self.arm.see_hardware(self.hardware if self.controllers is not None else None, self.now)
            self.arm.see_controllers(self.controllers, self.now)
            if self.robot is not None and (self.controllers or {}).get(HELPER) == "active":
                self.arm.see_robot(self.robot, self.now)
            if (self.controllers or {}).get(LAW) == "active" and self.law is not None:
                self.arm.see_law(self.law, self.now)
            step = self.arm.next_step(self.now)
            if step is not None:
                why = self.refuse.get(step.action, "")
                if not why:
                    self.do(step)
                self.done.append(step)
                self.arm.finish(step, not why, why, self.now)
        return self.done[first:]

    def do(self, step: Step) -> None:
        if step.action is Action.CLEAR_ERRORS:
            self.robot = FINE
        elif step.action is Action.LEAVE_FAULT:
            self.law = ArmMode.HOLD
        elif step.action is Action.RESTORE_HARDWARE:
            self.hardware[step.name] = "active"
        else:
            assert self.controllers is not None
            after = {Action.LOAD: "unconfigured", Action.CONFIGURE: "inactive"}
            self.controllers[step.name] = after.get(step.action, "active")
            if step == ACTIVATE:
                self.law = ArmMode.IMPEDANCE

    def collide(self) -> None:
        """What franka_hardware makes of a reflex: the node lives on, nothing in it is active."""
        self.robot, self.law = REFLEX, None
        self.hardware[HARDWARE] = "unconfigured"
        self.controllers = dict.fromkeys(self.controllers or {}, "inactive")

    def die(self) -> None:
        self.controllers, self.law = None, None

    def respawn(self) -> None:
        self.controllers = {}

    @property
    def mode(self) -> ArmMode:
        return self.arm.mode(self.now)


@pytest.fixture
def up() -> Bench:
    bench = Bench()
    bench.run()
    assert bench.mode is ArmMode.IMPEDANCE
    return bench


def test_it_brings_helpers_and_then_the_controller_up():
    bench = Bench()
    names = [(s.action, s.name) for s in bench.run()]
    assert names == [
        (Action.LOAD, HELPER),
        (Action.CONFIGURE, HELPER),
        (Action.LOAD, LAW),
        (Action.CONFIGURE, LAW),
        (Action.ACTIVATE, HELPER),
        (Action.ACTIVATE, LAW),
    ]
    assert bench.arm.waiting_for(bench.now) == ""


def test_before_the_node_appears_the_arm_is_idle_and_it_says_what_it_waits_for():
    bench = Bench()
    bench.controllers = None
    assert bench.run() == []
    assert bench.mode is ArmMode.IDLE
    assert "controller_manager" in bench.arm.waiting_for(bench.now)


def test_a_robot_that_says_nothing_is_not_activated():
    bench = Bench()
    bench.robot = None
    assert ACTIVATE not in bench.run()
    assert "report of the robot" in bench.arm.waiting_for(bench.now)


def test_a_robot_in_reflex_at_the_start_is_not_activated():
    bench = Bench()
    bench.robot = REFLEX
    assert ACTIVATE not in bench.run()
    assert bench.mode is ArmMode.REFLEX
    assert "cartesian_reflex" in bench.arm.detail(bench.now)


def test_a_reflex_waits_for_a_person_and_recovers_once_when_asked(up):
    up.robot = REFLEX
    up.controllers[LAW] = "inactive"
    up.law = None
    assert up.run(60.0) == []
    assert up.mode is ArmMode.REFLEX
    assert up.arm.ask_recovery(up.now) == ""
    assert up.run() == [Step(Action.CLEAR_ERRORS), ACTIVATE]
    assert up.arm.recovered(up.now) == (True, "the arm is in mode IMPEDANCE")
    assert up.arm.recovered(up.now) is None
    up.robot, up.law = REFLEX, None
    up.controllers[LAW] = "inactive"
    assert up.run(60.0) == []


def test_a_reflex_that_stops_the_hardware_interface_is_recovered_in_order(up):
    up.collide()
    assert up.run(30.0) == []
    assert up.mode is ArmMode.REFLEX
    assert f"{HARDWARE} is unconfigured" in up.arm.detail(up.now)
    up.arm.ask_recovery(up.now)
    assert up.run() == [
        Step(Action.CLEAR_ERRORS),
        Step(Action.RESTORE_HARDWARE, HARDWARE),
        Step(Action.ACTIVATE, HELPER),
        ACTIVATE,
    ]
    assert up.arm.recovered(up.now)[0]
    assert up.mode is ArmMode.IMPEDANCE
    assert up.run(10.0) == []


def test_hardware_that_stays_down_ends_the_recovery(up):
    up.collide()
    up.run(0.1)
    up.refuse[Action.RESTORE_HARDWARE] = "no connection"
    up.arm.ask_recovery(up.now)
    assert ACTIVATE not in up.run(20.0)
    ok, message = up.arm.recovered(up.now)
    assert not ok
    assert "no connection" in message


def test_a_reflex_that_takes_the_node_down_leaves_it_inactive_after_the_respawn(up):
    up.robot = REFLEX
    up.run(0.1)
    up.die()
    up.run(1.0)
    assert up.mode is ArmMode.REFLEX
    up.respawn()
    steps = up.run(30.0)
    assert Step(Action.CONFIGURE, LAW) in steps
    assert ACTIVATE not in steps
    assert up.mode is ArmMode.REFLEX
    up.arm.ask_recovery(up.now)
    assert ACTIVATE in up.run()
    assert up.mode is ArmMode.IMPEDANCE


def test_a_recovery_may_be_asked_for_before_the_node_is_back(up):
    up.robot = REFLEX
    up.run(0.1)
    up.die()
    up.run(0.5)
    assert up.arm.ask_recovery(up.now) == ""
    assert up.run(2.0) == []
    up.respawn()
    up.run()
    assert up.arm.recovered(up.now)[0]


def test_a_node_that_dies_without_a_reflex_is_brought_back(up):
    up.die()
    up.run(0.5)
    assert up.mode is ArmMode.FAULT
    up.respawn()
    assert up.run()[-1] == ACTIVATE
    assert up.mode is ArmMode.IMPEDANCE


def test_a_controller_that_becomes_inactive_by_itself_stays_so(up):
    up.controllers[LAW] = "inactive"
    up.law = None
    assert up.run(10.0) == []
    assert up.mode is ArmMode.FAULT
    assert "became inactive by itself" in up.arm.detail(up.now)


def test_a_silent_controller_is_a_fault_at_once(up):
    up.law = None
    up.run(0.4)
    assert up.mode is ArmMode.FAULT


def test_activation_that_is_refused_is_not_tried_again():
    bench = Bench()
    bench.refuse[Action.ACTIVATE] = "hardware is not active"
    bench.arm = ArmSupervision(SupervisionConfig(LAW, (), False))
    assert bench.run(20.0).count(ACTIVATE) == 1
    assert "hardware is not active" in bench.arm.detail(bench.now)


def test_loading_that_fails_is_tried_again_now_and_then():
    bench = Bench()
    bench.refuse[Action.LOAD] = "no such class"
    steps = bench.run(10 * RETRY_PERIOD)
    assert 9 <= steps.count(Step(Action.LOAD, HELPER)) <= 11
    assert f"cannot load {HELPER}: no such class" in bench.arm.detail(bench.now)


def test_errors_that_stay_end_the_recovery(up):
    up.robot = REFLEX
    up.run(0.1)
    up.refuse[Action.CLEAR_ERRORS] = "joint limit"
    up.arm.ask_recovery(up.now)
    assert up.run(20.0) == [Step(Action.CLEAR_ERRORS)]
    assert up.arm.recovered(up.now) == (False, "the robot's errors stay: joint limit")
    assert up.mode is not ArmMode.IDLE


def test_a_fault_of_the_law_is_left_when_asked(up):
    up.law = ArmMode.FAULT
    assert up.run(10.0) == []
    assert up.mode is ArmMode.FAULT
    up.arm.ask_recovery(up.now)
    assert up.run() == [Step(Action.LEAVE_FAULT)]
    assert up.arm.recovered(up.now)[0]


def test_a_recovery_without_end_fails_and_is_not_gone_on_with(up):
    up.die()
    up.run(1.0)
    up.arm.ask_recovery(up.now)
    up.run(RECOVERY_TIMEOUT + 1.0)
    ok, message = up.arm.recovered(up.now)
    assert not ok
    assert "not within 15 s" in message
    up.respawn()
    assert ACTIVATE not in up.run(10.0)


def test_nothing_is_recovered_from_a_sound_arm_or_with_the_user_stop_pressed(up):
    assert "nothing to recover" in up.arm.ask_recovery(up.now)
    up.robot = RobotReport(RobotMode.USER_STOPPED)
    up.run(0.1)
    assert "user stop" in up.arm.ask_recovery(up.now)


def test_a_controller_that_a_person_activates_is_accepted(up):
    up.controllers[LAW] = "inactive"
    up.law = None
    up.run(1.0)
    assert up.arm.detail(up.now)
    up.controllers[LAW], up.law = "active", ArmMode.HOLD
    up.run(0.2)
    assert up.mode is ArmMode.HOLD
    assert up.arm.detail(up.now) == ""


def test_two_recoveries_at_once_are_one(up):
    up.law = ArmMode.FAULT
    up.run(0.2)
    assert up.arm.ask_recovery(up.now) == ""
    assert "under way" in up.arm.ask_recovery(up.now)
