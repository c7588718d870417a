"""A robot that does not wait: a real arm, or a simulator paced by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
from rclpy.node import Node

from serl_actor.camera_views import CamerasConfig, prepare
from serl_actor.environment import BROKEN_MODES
from serl_actor.frames import Frame, StaleImage
from serl_actor.intervention import Intervention
from serl_actor.recorder import SENT
from serl_actor.reset_motion import ResetMotionConfig, plan_reset
from serl_actor.robot_client import (
    ArmFault,
    CommandRefused,
    ResetRefused,
    RobotError,
    StaleState,
)
from serl_actor.ros_arm_topics import ArmTopics
from serl_actor.ros_cameras import CameraTopics
from serl_actor.ros_object import ObjectTopic
from serl_actor.ros_robot_client import RobotClientConfig
from serl_actor.ros_scene import SceneReset
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose

FIRST_PICTURES = 1.0
"""For pictures of a scene that was reset [s]."""


class RealtimeClient:
    """RobotClient paced by the steady clock; one step takes one control period, all included.

    Called from the rollout's thread only. `waiting` is told what a call waits for when it takes
    long, and may raise to cancel it.

    Attributes:
      overruns: steps for which the period was over before the command was sent.
    """

    def __init__(
        self,
        node: Node,
        config: RobotClientConfig,
        motion: ResetMotionConfig | None,
        workspace: Workspace,
        control_period: float,
        waiting: Callable[[str], None],
        cameras: CamerasConfig | None = None,
        held: Callable[[], bool] = lambda: False,
        wants_object: bool = False,
        released: float | None = None,
    ) -> None:
        """`motion`: how to go to a start; None: the robot is simulated and can be put there.

        `cameras`: whose pictures belong to the states; None: nobody's. `held`: a motion to a start
        keeps its pose while this says so; see HoldGate.held. `wants_object`: where the object is
        belongs to the states. `released`: a motion to a start begins once the gripper is open by
        more than that; None: nobody moves it.
        """
        cameras = cameras or CamerasConfig()
        if cameras.names:
            prepare()
        self._config = config
        self._motion = motion
        self._workspace = workspace
        self._period = control_period
        self._waiting = waiting
        self._held = held
        self._topics = ArmTopics(node, config.frame_id, exclusive=motion is not None)
        self._scene = SceneReset(node, config.reset_timeout, waiting) if motion is None else None
        self._cameras = CameraTopics(node, cameras.names)
        self._max_age = cameras.limits.max_age
        self._object = ObjectTopic(node, wants_object, config.state_age)
        self._released = released
        self._begins = None if released is None else 1.0  # opening that an episode begins with
        self._opening: float | None = None  # what the gripper was commanded last
        self._stamp_ns = 0  # of the state returned last
        self._command_seq = 0
        self._sent_ns = 0
        self._next = 0.0
        self.overruns = 0

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Brings the tool to `start`, smoothly on a real arm.

        Raises:
          ArmFault: the arm broke off; a person must see to it.
          ResetRefused: the arm did not arrive: something is in the way.
          RobotError: the gripper does not open.
          StaleState: no states, or no answer of the simulator.
        """
        if self._scene is not None:
            state = self._scene.reset(start, seed)
            self._topics.take_over(state)
            self._command_seq = state.command_seq
            if not self._cameras.wait_since(state.stamp_ns, 0.0):  # the scene was another before
                self._cameras.wait_since(state.stamp_ns, FIRST_PICTURES)
                state = self._fresh()
        else:
            state = self._go(start)
        self._next = time.monotonic()
        self._stamp_ns = state.stamp_ns
        self._opening = self._begins
        return state

    def step(self, target: ArmTarget) -> ArmState:
        """Sends a target, and returns the state with which the next control period begins.

        It leaves in its phase of the period, or at once if that is past; what an operator says in
        between counts from the next step on. The state is from after the command, also when the
        period was over before it was sent.

        Raises:
          StaleState: the newest state is older than state_age, or none came after the command.
          CommandRefused: another node commands the arm, too.
        """
        _sleep_until(self._next + self._config.command_phase * self._period)
        heard = self._topics.heard
        stamp_ns = 0 if heard is None else heard.state.stamp_ns
        self._command_seq += 1
        self._opening = target.gripper
        self._topics.send(target, self._command_seq, stamp_ns)
        sent_at = time.monotonic()
        self._sent_ns = round(1e9 * sent_at)
        self._next += self._period
        if not _sleep_until(self._next):
            self.overruns += 1
            self._next = time.monotonic()
        age = self._config.state_age
        if not self._topics.wait_heard(
            lambda heard: heard.at > sent_at and heard.state.stamp_ns > stamp_ns, age
        ):
            raise StaleState(
                f"no state came within {age} s after command {self._command_seq}; the newest has "
                f"the stamp {stamp_ns} ns"
            )
        state = self._fresh()
        self._stamp_ns = state.stamp_ns
        return state

    def images(self) -> Mapping[str, Frame]:
        """Of each camera the picture closest to the state returned last.

        Raises:
          StaleImage: a camera has none that is younger than its limit.
        """
        try:
            return self._cameras.of_now(self._stamp_ns, self._max_age)
        except StaleImage as error:
            self._waiting(f"{error.waiting_for} ({error})")
            raise

    def notes(self) -> Mapping[str, np.ndarray]:
        """What is logged of the step that was executed last."""
        return {SENT: np.asarray(self._sent_ns, np.int64)}

    def fixture(self) -> Pose | None:
        """Where the simulator put it; None: the arm is real, and nobody knows."""
        return None if self._scene is None else self._scene.fixture

    def object(self) -> Pose | None:
        """Where the simulator has it; None: it is not wanted, or the arm is real."""
        self._object.wait_stamp(self._stamp_ns, self._config.state_age)
        return self._object.at_stamp(self._stamp_ns)

    def hold(self) -> None:
        """Commands the pose that the arm has, if that is known; else the controller's watchdog
        holds it once no more commands come."""
        heard = self._topics.heard
        if heard is not None and time.monotonic() - heard.at <= self._config.state_age:
            self._command_seq += 1
            target = ArmTarget(self._workspace.clip(heard.state.tcp_pose), self._opening)
            with suppress(CommandRefused):  # another node commands: the arm is not ours to hold
                self._topics.send(target, self._command_seq, heard.state.stamp_ns)

    def intervention(self, state: ArmState) -> Intervention | None:
        """What the operator said last, if it is fresh: a stalled device does not drive (D25)."""
        return self._topics.operators.heeded(self._config.intervention_age)

    def close(self) -> None:
        """Holds; the node owns the topics."""
        self.hold()

    def _fresh(self) -> ArmState:
        heard = self._topics.heard
        age = float("inf") if heard is None else time.monotonic() - heard.at
        if heard is None or age > self._config.state_age:
            raise StaleState(
                f"the newest state is {age:.3f} s old, limit {self._config.state_age} s"
            )
        return heard.state

    def _go(self, start: Pose) -> ArmState:
        """Moves a real arm to `start`, lifted first (D23)."""
        assert self._motion is not None
        state = self._fresh()
        self._command_seq = max(self._command_seq, state.command_seq)
        self._next = time.monotonic()
        state = self._let_go(state)
        for pose in plan_reset(state.tcp_pose, start, self._workspace, self._period, self._motion):
            state = self._reset_step(pose)
        goal = self._workspace.clip(start)
        give_up = time.monotonic() + self._motion.settle_time
        while not self._motion.has_arrived(state.tcp_pose, goal):
            if time.monotonic() > give_up:
                metres, angle = state.tcp_pose.distance(goal)
                raise ResetRefused(
                    f"the arm stopped {1e3 * metres:.1f} mm and {angle:.3f} rad from the start, "
                    f"limits {1e3 * self._motion.position_tolerance:.1f} mm and "
                    f"{self._motion.rotation_tolerance} rad"
                )
            state = self._reset_step(goal)
        return state

    def _let_go(self, state: ArmState) -> ArmState:
        """Opens the gripper where the arm is, if it is moved."""
        if self._released is None or self._motion is None:
            return state
        here, give_up = state.tcp_pose, time.monotonic() + self._motion.settle_time
        while (state := self._reset_step(here)).gripper <= self._released:
            if time.monotonic() > give_up:
                raise RobotError(
                    f"the gripper was told to open and is at {state.gripper:.2f}, expected more "
                    f"than {self._released} within {self._motion.settle_time} s",
                    "the gripper to open",
                )
        return state

    def _reset_step(self, pose: Pose) -> ArmState:
        here = ArmTarget(self._workspace.clip(self._fresh().tcp_pose), self._begins)
        while self._held():
            self._checked(self.step(here))
        self._waiting("the arm to reach the start")
        return self._checked(self.step(ArmTarget(pose, self._begins)))

    def _checked(self, state: ArmState) -> ArmState:
        if state.mode in BROKEN_MODES:
            raise ArmFault(f"the arm is in mode {state.mode.name}", "arm/recover, when it is safe")
        return state


def _sleep_until(moment: float) -> bool:
    """Until then on the steady clock [s]; false: it is past."""
    remaining = moment - time.monotonic()
    if remaining <= 0.0:
        return False
    time.sleep(remaining)
    return True
