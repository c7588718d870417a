"""The scripted expert as an operator's device: answers every arm state with an Intervention."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Header

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import ns_from_time, pose_from_msg, state_from_msg, time_from_ns
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown
from serl_controllers.ros_qos import INTERVENTION, STATE, STATUS
from serl_controllers.ros_status import StatusPublisher
from serl_controllers.stamped_poses import StampedPoses
from serl_interfaces.msg import Intervention, NodeStatus, RobotState
from serl_sim.expert import ExpertConfig
from serl_sim.experts import make_expert
from serl_sim.scripted_person import (
    DEMONSTRATIONS,
    WHEN_DRIFTING,
    Answer,
    PersonConfig,
    ScriptedPerson,
)

TRAINING = "training"
"""Phase of the actor in which a policy drives that may be corrected."""

WATCH_PERIOD = 0.5
"""Between two looks at whether states come [s]."""


@dataclass(frozen=True)
class ExpertNodeConfig:
    """Parameters of the node.

    Attributes:
      seed: with the number of the episode since the node's start, of all it does.
      control_period: where states come faster than commands, the time between two actions [s].
      intervene: "demonstrations": it drives whenever it may; "when_drifting": in training only when
        the policy drifts.
      person: how it then watches.
    """

    seed: int = 0
    control_period: float = 0.1
    intervene: str = DEMONSTRATIONS
    expert: ExpertConfig = field(default_factory=ExpertConfig)
    person: PersonConfig = field(default_factory=PersonConfig)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, expected at least 0")
        if self.control_period <= 0.0:
            raise ValueError(f"control_period is {self.control_period} s, expected more than 0")
        if self.intervene not in (DEMONSTRATIONS, WHEN_DRIFTING):
            known = f"{DEMONSTRATIONS!r} or {WHEN_DRIFTING!r}"
            raise ValueError(f"intervene is {self.intervene!r}, expected {known}")


class ExpertNode(Node):
    """Willing to drive, always or when a policy in training drifts; whoever listens decides
    whether it may."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError: a parameter is wrong; names it.
        """
        super().__init__("expert", **kwargs)
        self._config = declare_from(self, ExpertNodeConfig)
        refuse_unknown(self)
        keep_parameters(self)
        self._person = ScriptedPerson(make_expert(self._config.expert), self._config.person)
        self._policy_drives = False
        self._episodes = 0
        self._fixtures, self._objects = StampedPoses(), StampedPoses()
        self._sees_objects = self._config.expert.kind == "pick"
        self._waiting: ArmState | None = None  # for its fixture, and its object if there is one
        self._acted: ArmState | None = None  # on the state that its last action answers
        self._last_stamp_ns = 0
        self._period_ns = round(1e9 * self._config.control_period)
        self._said = Answer(False, np.zeros(6))
        self._heard = -1e9
        self._publisher = self.create_publisher(Intervention, "intervention", INTERVENTION)
        self._status = StatusPublisher(self)
        self.create_subscription(PoseStamped, "scene/fixture", self._on_fixture, STATE)
        if self._sees_objects:
            self.create_subscription(PoseStamped, "scene/object", self._on_object, STATE)
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        if self._config.intervene == WHEN_DRIFTING:
            self.create_subscription(NodeStatus, "status", self._on_status, STATUS)
        self.create_timer(WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._watch()

    def _on_fixture(self, message: PoseStamped) -> None:
        self._keep(self._fixtures, message)

    def _on_object(self, message: PoseStamped) -> None:
        self._keep(self._objects, message)

    def _keep(self, poses: StampedPoses, message: PoseStamped) -> None:
        poses.add(ns_from_time(message.header.stamp), pose_from_msg(message.pose))
        if self._waiting is not None:
            self._answer(self._waiting)

    def _on_state(self, message: RobotState) -> None:
        self._heard = time.monotonic()
        self._answer(state_from_msg(message))

    def _on_status(self, message: NodeStatus) -> None:
        if message.node == "actor":
            self._policy_drives = message.phase == TRAINING

    def _answer(self, state: ArmState) -> None:
        """Acts once it is known where the socket, or the place and the object, are in this state.

        The same state again gets the same answer again.
        """
        fixture, seen = (p.get(state.stamp_ns) for p in (self._fixtures, self._objects))
        self._waiting = state if fixture is None or (self._sees_objects and seen is None) else None
        if self._waiting is not None:
            return
        if self._acted is None or self._is_new_episode(state):
            seed = episode_seed(self._config.seed, self._episodes)
            self._person.reset(seed, fixture)
            self._episodes += 1
            self._act(state, seen)
        elif self._is_new_step(state):
            self._act(state, seen)
        self._last_stamp_ns = state.stamp_ns
        self._publish(state)

    def _is_new_episode(self, state: ArmState) -> bool:
        """The scene was reset, so the count of commands began anew; or the simulator was started
        anew, so its clock went back."""
        if self._last_stamp_ns - state.stamp_ns >= self._period_ns:
            return True
        if state.command_seq == 0:
            # A reset takes a period of its own; the states of real time follow more closely.
            return state.stamp_ns - self._last_stamp_ns >= self._period_ns
        return state.command_seq < self._acted.command_seq

    def _is_new_step(self, state: ArmState) -> bool:
        waited_ns = state.stamp_ns - self._acted.stamp_ns
        return state.command_seq != self._acted.command_seq or waited_ns >= self._period_ns

    def _act(self, state: ArmState, seen: Pose | None) -> None:
        self._person.see_object(seen)
        self._said = self._person.answer(state, self._policy_drives)
        self._acted = state

    def _publish(self, state: ArmState) -> None:
        stamp = time_from_ns(state.stamp_ns)
        message = Intervention(
            header=Header(stamp=stamp, frame_id="tcp"),
            state_stamp=stamp,
            active=self._said.drives,
            twist=self._said.action.astype(np.float32),
            gripper=self._said.gripper,
            device="expert",
        )
        self._publisher.publish(message)

    def _watch(self) -> None:
        silent = time.monotonic() - self._heard > 2.0
        self._status.say("ready", waiting_for="arm/state" if silent else self._lacks())

    def _lacks(self) -> str:
        """The topic that the state waited with lacks; empty: none."""
        if self._waiting is None:
            return ""
        stamp_ns = self._waiting.stamp_ns
        return "scene/object" if self._fixtures.get(stamp_ns) is not None else "scene/fixture"


def episode_seed(seed: int, episode: int) -> int:
    """Of one episode: differs for every pair."""
    return int(np.random.SeedSequence((seed, episode)).generate_state(1, np.uint64)[0])


def main() -> None:
    """Runs the node until it is interrupted."""
    run("expert", ExpertNode, fast=True)


if __name__ == "__main__":
    main()
