"""The arm's topics: callbacks store and notify, the rollout's thread waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from serl_actor.robot_client import CommandRefused
from serl_actor.ros_operators import Operators
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.ros_arm import state_from_msg, target_to_msg
from serl_controllers.ros_qos import COMMAND, STATE
from serl_interfaces.msg import ArmCommand, RobotState

WATCH_PERIOD = 0.5
"""Between two looks at who else is there [s]."""

LINGER = 30.0
"""A dead node stays in the graph for less than this [s]."""

DISCOVERY = 3.0
"""Who is alone for so long after its start was there first [s]."""

CLOCK_STEP_AFTER = 0.5
"""States older than the newest are stragglers, until they alone have come for so long [s]."""


@dataclass(frozen=True)
class Heard:
    """A state and when it arrived, on the steady clock [s]."""

    state: ArmState
    at: float


class ArmTopics:
    """arm/command out, arm/state in, the newest; and the operators."""

    def __init__(self, node: Node, frame_id: str, exclusive: bool = False) -> None:
        """`frame_id` names the arm's base frame.

        `exclusive`, for a real arm: a namesake that was there first is a rival at once, be it dead
        or alive.
        """
        self._node = node
        self._frame_id = frame_id
        self._changed = threading.Condition()
        self._heard: Heard | None = None
        self._rivals = ""
        self._began = self._alone_at = time.monotonic()
        self._may_linger = not exclusive
        self.operators = Operators(node, frame_id)
        self._commands = node.create_publisher(ArmCommand, "arm/command", COMMAND)
        node.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(WATCH_PERIOD, self._watch, clock=steady)

    @property
    def heard(self) -> Heard | None:
        """The newest state."""
        return self._heard

    def take_over(self, state: ArmState) -> None:
        """An episode begins with a state that came another way; older ones are ignored."""
        self.operators.look()
        with self._changed:
            self._heard = Heard(state, time.monotonic())

    def send(self, target: ArmTarget, command_seq: int, stamp_ns: int) -> None:
        """Publishes a command.

        Raises:
          CommandRefused: another node commands the arm, too.
        """
        if self._rivals:
            raise CommandRefused(
                f"more than one node publishes arm/command: {self._rivals}",
                f"the other publishers on arm/command to leave: {self._rivals}",
            )
        self._commands.publish(target_to_msg(target, command_seq, stamp_ns, self._frame_id))

    def wait_state(self, condition: Callable[[ArmState], bool], timeout: float) -> ArmState | None:
        """The newest state once it fulfils `condition`; None after `timeout` [s]."""
        with self._changed:
            self._changed.wait_for(lambda: self._fulfils(condition), timeout)
            heard = self._heard
        return heard.state if heard is not None and condition(heard.state) else None

    def wait_heard(self, condition: Callable[[Heard], bool], timeout: float) -> bool:
        """Whether the newest state fulfils `condition`, at the latest after `timeout` [s]."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._heard is not None and condition(self._heard), timeout
            )

    def _fulfils(self, condition: Callable[[ArmState], bool]) -> bool:
        return self._heard is not None and condition(self._heard.state)

    def _on_state(self, message: RobotState) -> None:
        try:
            heard = Heard(state_from_msg(message), time.monotonic())
        except ValueError as error:
            self._node.get_logger().warning(f"state dropped: {error}", throttle_duration_sec=5.0)
            return
        with self._changed:
            if self._is_news(heard):
                self._heard = heard
                self._changed.notify_all()

    def _is_news(self, heard: Heard) -> bool:
        """Not a straggler; a clock that went back is believed once nothing newer came for long."""
        newest = self._heard
        if newest is None or heard.state.stamp_ns >= newest.state.stamp_ns:
            return True
        if heard.at - newest.at < CLOCK_STEP_AFTER:
            return False
        self._node.get_logger().warning(
            f"the clock of arm/state went back by "
            f"{1e-9 * (newest.state.stamp_ns - heard.state.stamp_ns):.3f} s, and nothing newer "
            f"came for {CLOCK_STEP_AFTER} s: its states count from now on"
        )
        return True

    def _watch(self) -> None:
        """Looks for operators, and for other nodes that command.

        A killed actor stays in the graph for some seconds; its successor, of the same name, is
        no rival of it. A namesake that stays for longer than the dead do is one. On a real arm the
        successor waits until it is gone.
        """
        self.operators.look()
        found = self._node.get_publishers_info_by_topic(self._commands.topic_name)
        names = [f"{i.node_namespace.rstrip('/')}/{i.node_name}" for i in found]
        own = self._node.get_fully_qualified_name()
        rivals = {name for name in names if name != own}
        now = time.monotonic()
        if names.count(own) <= 1:
            self._alone_at = now
            self._may_linger = self._may_linger or now - self._began > DISCOVERY
        elif not self._may_linger or now - self._alone_at > LINGER:
            rivals.add(f"another {own}")
        if rivals:
            self._node.get_logger().error(
                f"others publish arm/command: {', '.join(sorted(rivals))}; nothing is sent",
                throttle_duration_sec=5.0,
            )
        self._rivals = ", ".join(sorted(rivals))
