"""Who controls the arm, what is wrong with it, and the one next thing to do about it. No ROS.

The controller may be inactive, its node may die (a reflex can take it down) and come back. What
is seen goes in, at most one step at a time comes out; clocks are passed in, in seconds of any
steady clock. Nothing here recovers the arm unless a person asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from serl_controllers.arm import ArmMode
from serl_franka_bringup.arm_steps import Action, RobotMode, RobotReport, Step, SupervisionConfig

RETRY_PERIOD = 2.0
"""Between two tries of a step that does not touch the arm [s]."""

SILENCE = 0.3
"""A controller that has said nothing for so long does not control [s]."""

RECOVERY_TIMEOUT = 15.0
"""Longest time from asking to an arm that holds [s]."""

CLEARED_GRACE = 0.3
"""After the robot's errors were cleared, what it said may be of before [s]."""

REPORT_AGE = 1.0
"""A robot's report older than this is not known any more [s]."""


@dataclass
class _Recovery:
    began: float
    cleared: bool


class ArmSupervision:
    """Brings the controller up, notices what breaks, and recovers once when asked."""

    def __init__(self, config: SupervisionConfig) -> None:
        self._config = config
        self._controllers: Mapping[str, str] | None = None
        self._law: tuple[ArmMode, float] | None = None
        self._robot: tuple[RobotReport, float] | None = None
        self._was_active = False
        self._blocked = ""  # why the controller is not activated unless a person asks
        self._reflex = False  # that was a reflex
        self._lost = False  # the controller was active when its node went
        self._hardware: dict[str, str] = {}
        self._restored_at = -1e9
        self._cleared_at = -1e9
        self._busy = False
        self._failures: dict[Step, tuple[str, float]] = {}
        self._recovery: _Recovery | None = None
        self._outcome: tuple[bool, str] | None = None

    # What is seen.

    def see_controllers(self, states: Mapping[str, str] | None, now: float) -> None:
        """State by controller name, as controller_manager tells; None: it does not answer."""
        before, self._controllers = self._controllers, states
        state = self._state(self._config.controller)
        if states is None and before is not None:
            self._failures.clear()  # of a process that is gone
            self._lost = self._was_active
            if self._was_active and self._in_reflex(now):
                self._block("the controller's node died in a reflex", reflex=True)
        elif self._was_active and state not in (None, "active"):
            self._block(f"the controller became {state} by itself")
        elif state == "active" and not self._was_active:
            self._unblock()  # a person did it by other means
        self._was_active = state == "active"
        self._lost = self._lost and not self._was_active

    def see_hardware(self, states: Mapping[str, str] | None, now: float) -> None:
        """State by hardware interface. An error of the robot takes it from active to another."""
        if states is None or now - self._restored_at < CLEARED_GRACE:
            return
        self._hardware = dict(states)
        for name in self._stopped() if self._recovery is None else ():
            why = f"the hardware interface {name} is {states[name]}"
            self._block(why, reflex=self._config.robot_reports)

    def see_law(self, mode: ArmMode, now: float) -> None:
        """The mode in a state that the controller published."""
        self._law = (mode, now)

    def see_robot(self, report: RobotReport, now: float) -> None:
        """What the robot says of itself."""
        if now - self._cleared_at < CLEARED_GRACE:
            return
        self._robot = (report, now)
        if report.mode in (RobotMode.REFLEX, RobotMode.USER_STOPPED):
            reflex = report.mode is RobotMode.REFLEX
            self._block(f"the robot is in mode {report.mode.name}", reflex=reflex)

    # What is to be done.

    def ask_recovery(self, now: float) -> str:
        """A person wants the arm back. Empty: begun; else why not, or why there is no need."""
        if self._recovery is not None:
            return "a recovery is under way"
        if self._user_stopped(now):
            return "the user stop is pressed: release it first"
        if self._sound(now) and not self._troubled(now):
            return f"nothing to recover: the arm is in mode {self._law_mode().name}"
        unknown = self._report(now) is None
        clear = self._config.robot_reports and (unknown or self._troubled(now))
        self._recovery = _Recovery(now, cleared=not clear)
        self._outcome = None
        self._failures.clear()
        if not clear:
            self._unblock()
        return ""

    def next_step(self, now: float) -> Step | None:
        """What to do now; None while a step is in hand, or there is nothing to do."""
        if self._busy:
            return None
        step = self._choose(now)
        if step is not None and not self._may_try(step, now):
            return None
        self._busy = step is not None
        return step

    def finish(self, step: Step, ok: bool, message: str, now: float) -> None:
        """How a step that `next_step` gave went."""
        self._busy = False
        if ok:
            self._failures.pop(step, None)
        else:
            self._failures[step] = (message or "refused", now)
        if step.action is Action.CLEAR_ERRORS and self._recovery is not None:
            if ok:
                self._recovery.cleared = True
                self._unblock()
                self._robot = None
                self._cleared_at = now
            else:
                self._end_recovery(False, f"the robot's errors stay: {message}")
        elif step == self._activation and ok:
            self._was_active = True  # the next list may be one without it
        elif step == self._activation:
            self._block(f"activation was refused: {message}")
            self._end_recovery(False, self._blocked)
        elif step.action is Action.RESTORE_HARDWARE and ok:
            self._hardware[step.name] = "active"
            self._restored_at = now
        elif step.action is Action.RESTORE_HARDWARE:
            self._block(f"the hardware interface {step.name} cannot be activated: {message}")
            self._end_recovery(False, self._blocked)
        elif step.action is Action.LEAVE_FAULT and not ok:
            self._end_recovery(False, f"the controller stays in FAULT: {message}")

    def recovered(self, now: float) -> tuple[bool, str] | None:
        """How the recovery that was asked for ended, told once; None while it goes on."""
        if self._recovery is not None:
            if self._recovery.cleared and self._sound(now):
                self._end_recovery(True, f"the arm is in mode {self._law_mode().name}")
            elif now - self._recovery.began > RECOVERY_TIMEOUT:
                self._block("a recovery failed")
                why = self.detail(now) or "the controller did not become active"
                self._end_recovery(False, f"not within {RECOVERY_TIMEOUT:.0f} s: {why}")
        outcome, self._outcome = self._outcome, None
        return outcome

    # What is told.

    def controls(self, now: float) -> bool:
        """The controller publishes the arm's state itself."""
        return self._law is not None and now - self._law[1] <= SILENCE

    def mode(self, now: float) -> ArmMode:
        """The arm's mode, whoever publishes it."""
        if self.controls(now):
            return self._law_mode()
        if self._reflex or self._in_reflex(now):
            return ArmMode.REFLEX
        if self._blocked or self._lost or self._was_active:
            return ArmMode.FAULT
        return ArmMode.IDLE

    def detail(self, now: float) -> str:
        """What is wrong, one sentence; empty if nothing is."""
        said = [] if not self._blocked else [f"{self._blocked}; arm/recover, when it is safe"]
        report = self._report(now)
        if report is not None and report.errors:
            said.append(f"robot errors: {', '.join(report.errors)}")
        said += [f"cannot {step}: {why}" for step, (why, _) in self._failures.items()]
        return "; ".join(said)

    def waiting_for(self, now: float) -> str:
        """What must happen before the arm can be controlled; empty if it is."""
        if self.controls(now):
            return ""
        if self._controllers is None:
            return "the controller's node (services of controller_manager)"
        if self._blocked:
            return "arm/recover, when it is safe"
        if self._config.robot_reports and self._report(now) is None:
            return "a report of the robot (franka_robot_state_broadcaster)"
        return f"{self._config.controller} to become active"

    # Decisions.

    @property
    def _activation(self) -> Step:
        return Step(Action.ACTIVATE, self._config.controller)

    def _choose(self, now: float) -> Step | None:
        if self._controllers is None:
            return None
        for name in (*self._config.helpers, self._config.controller):
            state = self._state(name)
            if state is None:
                return Step(Action.LOAD, name)
            if state == "unconfigured":
                return Step(Action.CONFIGURE, name)
        if self._recovery is not None and not self._recovery.cleared:
            return Step(Action.CLEAR_ERRORS)
        for name in self._stopped():  # without it nothing can be activated
            restore = Step(Action.RESTORE_HARDWARE, name)
            return restore if self._recovery is not None else None
        for name in self._config.helpers:
            if self._state(name) == "inactive":
                return Step(Action.ACTIVATE, name)
        if self._state(self._config.controller) == "inactive":
            return self._activation if self._may_activate(now) else None
        fault = self.controls(now) and self._law_mode() is ArmMode.FAULT
        return Step(Action.LEAVE_FAULT) if fault and self._recovery is not None else None

    def _stopped(self) -> list[str]:
        """Hardware interfaces that are not active."""
        return [name for name, state in self._hardware.items() if state != "active"]

    def _may_activate(self, now: float) -> bool:
        if self._blocked:
            return False
        if not self._config.robot_reports:
            return True
        report = self._report(now)
        return report is not None and report.mode in (RobotMode.IDLE, RobotMode.MOVE)

    def _may_try(self, step: Step, now: float) -> bool:
        """A step that failed is tried again only if it does not touch the arm."""
        failure = self._failures.get(step)
        return failure is None or now - failure[1] >= RETRY_PERIOD

    def _block(self, why: str, reflex: bool = False) -> None:
        self._blocked = self._blocked or why
        self._reflex = self._reflex or reflex

    def _unblock(self) -> None:
        self._blocked, self._reflex = "", False

    def _end_recovery(self, ok: bool, message: str) -> None:
        if self._recovery is not None:
            self._recovery = None
            self._outcome = (ok, message)

    def _state(self, name: str) -> str | None:
        return None if self._controllers is None else self._controllers.get(name)

    def _sound(self, now: float) -> bool:
        """The controller controls, nothing stopped it, and the law works."""
        works = self.controls(now) and not self._blocked
        return works and self._law_mode() not in (ArmMode.FAULT, ArmMode.IDLE)

    def _law_mode(self) -> ArmMode:
        assert self._law is not None
        return self._law[0]

    def _report(self, now: float) -> RobotReport | None:
        fresh = self._robot is not None and now - self._robot[1] <= REPORT_AGE
        return self._robot[0] if fresh and self._robot is not None else None

    def _in_reflex(self, now: float) -> bool:
        report = self._report(now)
        reflex = report is not None and report.mode is RobotMode.REFLEX
        return reflex or (self._law is not None and self._law_mode() is ArmMode.REFLEX)

    def _troubled(self, now: float) -> bool:
        report = self._report(now)
        return report is not None and (report.mode is RobotMode.REFLEX or bool(report.errors))

    def _user_stopped(self, now: float) -> bool:
        report = self._report(now)
        return report is not None and report.mode is RobotMode.USER_STOPPED
