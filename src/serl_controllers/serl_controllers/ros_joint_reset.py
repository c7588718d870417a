"""The `arm/joint_reset` action: one motion at a time, checked, watched and cancellable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from serl_controllers.arm import ArmState
from serl_controllers.joint_limits import JointLimitError, JointLimits
from serl_controllers.joint_reset import Ending, JointReset, Outcome
from serl_interfaces.action import JointReset as JointResetAction

PERIOD = 0.05
"""Between two looks at a motion [s]."""


class JointMover(Protocol):
    """What moves the joints."""

    def start(self, q: list[float], max_velocity: float) -> None:
        """Begins a motion to `q` [7] [rad], its fastest joint at `max_velocity` [rad/s]."""
        ...

    def cancel(self) -> None:
        """Brakes and holds."""
        ...

    def state(self) -> ArmState | None:
        """The arm now; None if that is not known."""
        ...

    def limits(self) -> JointLimits:
        """Of the arm. JointLimitError if they are not known."""
        ...


@dataclass
class _Motion:
    goal: ServerGoalHandle
    reset: JointReset
    over: Future
    cancelled: bool = False


class JointResetServer:
    """Refuses a target out of the limits, and a second motion beside the first.

    An action's refusal carries no reason: what is refused is accepted and aborted at once, and
    its result says why.
    """

    def __init__(
        self, node: Node, mover: JointMover, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._node = node
        self._mover = mover
        self._clock = clock
        self._motion: _Motion | None = None
        self._server = ActionServer(
            node,
            JointResetAction,
            "arm/joint_reset",
            execute_callback=self._execute,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD, self._watch, clock=steady)

    @property
    def moving(self) -> bool:
        """A motion is under way."""
        return self._motion is not None

    async def _execute(self, goal: ServerGoalHandle) -> Any:
        q, velocity = list(goal.request.q), float(goal.request.max_velocity)
        refusal = self._refusal(q, velocity)
        if refusal:
            self._node.get_logger().warning(f"joint reset refused: {refusal}")
            outcome = Outcome(Ending.FAILED, refusal)
        else:
            motion = _Motion(goal, JointReset(q, velocity, self._clock()), Future())
            self._mover.start(q, velocity)
            self._motion = motion
            outcome = await motion.over
        return self._finish(goal, outcome)

    def _refusal(self, q: list[float], max_velocity: float) -> str:
        """Why a motion cannot begin; empty if it can."""
        if self._motion is not None:
            return "another joint reset is under way"
        if self._mover.state() is None:
            return "the arm's state is not known"
        try:
            self._mover.limits().check(q, max_velocity)
        except JointLimitError as error:
            return str(error)
        return ""

    def _watch(self) -> None:
        motion = self._motion
        if motion is None:
            return
        if motion.goal.is_cancel_requested and not motion.cancelled:
            motion.cancelled = True
            motion.reset.cancel()
            self._mover.cancel()
        state = self._mover.state()
        outcome = None if state is None else motion.reset.observe(state, self._clock())
        motion.goal.publish_feedback(JointResetAction.Feedback(progress=motion.reset.progress))
        if outcome is not None:
            if outcome.ending is Ending.FAILED:
                self._mover.cancel()
            self._motion = None
            motion.over.set_result(outcome)

    def _finish(self, goal: ServerGoalHandle, outcome: Outcome) -> Any:
        result = JointResetAction.Result(
            success=outcome.ending is Ending.ARRIVED, message=outcome.message
        )
        state = self._mover.state()
        if state is not None:
            result.q = state.q
        if outcome.ending is Ending.ARRIVED:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result
