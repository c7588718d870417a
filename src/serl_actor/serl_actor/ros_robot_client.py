"""The simulated robot in lockstep: a command number is answered by the state that carries it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rclpy.node import Node

from serl_actor.frames import Frame
from serl_actor.intervention import Intervention
from serl_actor.robot_client import CommandRefused, StaleState
from serl_actor.ros_arm_topics import ArmTopics
from serl_actor.ros_cameras import CameraTopics
from serl_actor.ros_object import ObjectTopic
from serl_actor.ros_scene import SceneReset
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose


@dataclass(frozen=True)
class RobotClientConfig:
    """Timing of the exchange with the robot; times are those of the wall clock.

    Attributes:
      frame_id: the arm's base frame.
      retry_period: lockstep: silence after which the same command number is sent again [s].
      state_timeout: lockstep: silence after which the state or its pictures count as stale [s].
      reset_timeout: for an answer to reset_scene, which is then asked again [s].
      operator_timeout: lockstep: for an operator's answer to a state [s].
      state_age: real time: a state older than this is stale [s].
      command_phase: real time: a command leaves when this share of its period, 0 .. below 1, is
        over, so that it does not matter how long the choice of the action took; later if it took
        longer.
      intervention_age: what a person, in real time anybody, said longer ago is not heeded [s].
    """

    frame_id: str = "fr3_link0"
    retry_period: float = 0.2
    state_timeout: float = 3.0
    reset_timeout: float = 3.0
    operator_timeout: float = 3.0
    state_age: float = 0.1
    command_phase: float = 0.25
    intervention_age: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 < self.retry_period <= self.state_timeout:
            raise ValueError(
                f"retry_period {self.retry_period} s is not in 0 .. state_timeout "
                f"({self.state_timeout} s)"
            )
        if not 0.0 <= self.command_phase < 1.0:
            raise ValueError(f"command_phase is {self.command_phase}, expected 0 .. below 1")
        for name in ("reset_timeout", "operator_timeout", "state_age", "intervention_age"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)} s, expected more than 0")


class RosRobotClient:
    """RobotClient of a simulator that waits for commands.

    Called from the rollout's thread only. `waiting` is told what a call waits for when it takes
    long, and may raise to cancel it.
    """

    def __init__(
        self,
        node: Node,
        config: RobotClientConfig,
        waiting: Callable[[str], None],
        cameras: Sequence[str] = (),
        period: float = 0.0,
        wants_object: bool = False,
    ) -> None:
        """`cameras`: names of those whose pictures belong to each state.

        `period`: least time of a step that a person drives [s]. `wants_object`: so does where the
        object is.
        """
        self._config = config
        self._waiting = waiting
        self._cameras = CameraTopics(node, cameras)
        self._object = ObjectTopic(node, wants_object)
        self._topics = ArmTopics(node, config.frame_id)
        self._scene = SceneReset(node, config.reset_timeout, waiting)
        self._state: ArmState | None = None
        self._target: ArmTarget | None = None
        self._period = period
        self._stepped_at = time.monotonic()

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Resets the scene with the tool at `start`; raises as SceneReset, and as `step`."""
        state = self._state = self._scene.reset(start, seed)
        self._target = None
        self._topics.take_over(state)
        if not self._all_came(state):
            self._exchange(
                ArmTarget(state.tcp_pose),
                state.command_seq,
                state,
                lambda heard: heard.stamp_ns == state.stamp_ns,
            )
        return state

    def step(self, target: ArmTarget) -> ArmState:
        """Sends the next command and returns the state that answers it.

        Raises:
          StaleState: no answer within state_timeout.
          StaleImage: an answer, but without a picture of each camera; StaleState: without the
            object.
          CommandRefused: the robot says it refused commands, or another node commands it.
        """
        assert self._state is not None, "reset comes first"
        before = self._state
        seq = before.command_seq + 1
        state = self._exchange(
            target,
            seq,
            before,
            lambda heard: heard.command_seq == seq and heard.stamp_ns > before.stamp_ns,
        )
        self._state, self._target = state, target
        self._stepped_at = time.monotonic()
        return state

    def images(self) -> Mapping[str, Frame]:
        """The pictures with the stamp of the state returned last."""
        assert self._state is not None, "reset comes first"
        return self._cameras.at_stamp(self._state.stamp_ns)

    def fixture(self) -> Pose | None:
        """Where the simulator put it."""
        return self._scene.fixture

    def object(self) -> Pose | None:
        """Where the simulator has it; None: it is not wanted."""
        assert self._state is not None, "reset comes first"
        return self._object.at_stamp(self._state.stamp_ns)

    def hold(self) -> None:
        """Nothing to do: without a command no time passes."""

    def intervention(self, state: ArmState) -> Intervention | None:
        """What a person who drives says now, else an operator's answer to `state`.

        A person is not waited for; while they drive, a step takes its time. Others answer by the
        stamp of the state: None after operator_timeout, or at once if there is nobody else. The
        state is asked for again meanwhile: they may have missed it.
        """
        operators, max_age = self._topics.operators, self._config.intervention_age
        if operators.driving_person(max_age) is not None:
            time.sleep(max(0.0, self._stepped_at + self._period - time.monotonic()))
            person = operators.driving_person(max_age)
            if person is not None:
                return person
        started = time.monotonic()
        while operators.answering and time.monotonic() - started < self._config.operator_timeout:
            said = operators.wait_answer(state.stamp_ns, self._config.retry_period)
            if said is not None:
                return said
            target = self._target or ArmTarget(state.tcp_pose)
            self._topics.send(target, state.command_seq, state.stamp_ns)
            self._waiting("an operator's answer on intervention")
        return None if operators.answering else operators.heeded(max_age)

    def close(self) -> None:
        """Nothing to do: the node owns the topics."""

    def _exchange(
        self, target: ArmTarget, seq: int, before: ArmState, answers: Callable[[ArmState], bool]
    ) -> ArmState:
        """Sends until a state answers and all that belongs to it has come.

        A number that was carried out already is only answered again.
        """
        period, started = self._config.retry_period, time.monotonic()
        state: ArmState | None = None
        while (silent := time.monotonic() - started) < self._config.state_timeout:
            self._topics.send(target, seq, before.stamp_ns)
            state = self._topics.wait_state(answers, period)
            if state is not None and self._all_came(state):
                return state
            self._check_refusals(before, seq)
            self._waiting("the sim (an answer on arm/state, and what belongs to it)")
        if state is not None:
            self._cameras.at_stamp(state.stamp_ns)  # names the camera that is missing
            self._object.at_stamp(state.stamp_ns)
            return state
        raise StaleState(
            f"no state answered command {seq} for {silent:.1f} s, limit "
            f"{self._config.state_timeout} s",
            "the sim",
        )

    def _all_came(self, state: ArmState) -> bool:
        """What belongs to a state, each at the latest after the retry period."""
        period, stamp_ns = self._config.retry_period, state.stamp_ns
        return self._cameras.wait_stamp(stamp_ns, period) and self._object.wait_stamp(
            stamp_ns, period
        )

    def _check_refusals(self, before: ArmState, seq: int) -> None:
        heard = self._topics.heard
        refused = 0 if heard is None else heard.state.rejected_commands - before.rejected_commands
        if refused > 0:
            raise CommandRefused(
                f"the arm refused {refused} commands since the last step, and command {seq} is "
                "unanswered; its status says why",
                "the sim to accept commands",
            )
