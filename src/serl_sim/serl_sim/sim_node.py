"""The simulated arm as a node: the topics and services of the real one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import (
    FrameError,
    pose_from_msg,
    pose_to_msg,
    state_to_msg,
    target_from_msg,
    time_from_ns,
)
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown
from serl_controllers.ros_qos import COMMAND, METRICS, STATE
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import ArmCommand, Metrics, RobotState
from serl_interfaces.srv import ResetScene
from serl_sim.command_intake import CommandIntake, Verdict, rivals
from serl_sim.config import SceneError
from serl_sim.ros_joints import SimulatedJoints
from serl_sim.ros_sim_config import SimNodeConfig
from serl_sim.simulation import Simulation

if TYPE_CHECKING:
    from serl_sim.ros_cameras import RosCameras
    from serl_sim.ros_film import RosFilm

METRICS_PERIOD = 5.0
"""Between two messages on `metrics` [s]."""

WATCH_PERIOD = 0.5
"""Between two looks at who is there [s]."""


class SimNode(Node):
    """Simulation behind arm/command, arm/state, reset_scene and arm/recover."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, SceneError, GLError, OSError: a parameter is wrong, or cameras or films
            are asked for and nothing draws them; says why.
        """
        super().__init__("sim", **kwargs)
        self._config = declare_from(self, SimNodeConfig)
        refuse_unknown(self)
        keep_parameters(self)
        scene = self._config.scene
        law = self._config.compliance.law_parameters(scene.target)
        self._simulation = Simulation(scene, law, self._config.control_period)
        self._intake = CommandIntake(self._simulation, lockstep=not self._config.realtime)
        self._phase = "realtime" if self._config.realtime else "lockstep"
        self._episodes = 0
        self._periods = 0
        self._physics_s = 0.0
        self._measured = (time.monotonic(), 0, 0.0)
        self._last_command = -1e9
        self._rivals = ""
        self._alarm = ""
        self._cameras = self._open_cameras()
        self._make_interface()
        self._film = self._open_film()
        self._watch()

    def destroy_node(self) -> None:
        """Finishes the last film, and frees what draws."""
        if self._cameras is not None:
            self._cameras.close()
        if self._film is not None:
            self._film.close()
        super().destroy_node()

    def _open_cameras(self) -> RosCameras | None:
        if not self._config.cameras.names:
            return None
        from serl_sim.ros_cameras import RosCameras  # loads OpenGL: only if asked for

        return RosCameras(self, self._simulation, self._config.cameras, apart=self._config.realtime)

    def _open_film(self) -> RosFilm | None:
        if not self._config.video.directory:
            return None
        from serl_sim.ros_film import RosFilm  # loads OpenGL and FFmpeg: only if asked for

        return RosFilm(self, self._simulation, self._config.video)

    def _make_interface(self) -> None:
        self._state_publisher = self.create_publisher(RobotState, "arm/state", STATE)
        self._fixture_publisher = self.create_publisher(PoseStamped, "scene/fixture", STATE)
        self._object_publisher = (
            None
            if self._simulation.object is None
            else self.create_publisher(PoseStamped, "scene/object", STATE)
        )
        self._connector_publisher = self.create_publisher(PoseStamped, "sim/connector_pose", STATE)
        self._metrics_publisher = self.create_publisher(Metrics, "metrics", METRICS)
        self._status = StatusPublisher(self)
        self._commands = self.create_subscription(
            ArmCommand, "arm/command", self._on_command, COMMAND
        )
        self.create_service(ResetScene, "reset_scene", self._on_reset)
        self.create_service(Trigger, "arm/recover", self._on_recover)
        self._joints = SimulatedJoints(
            self,
            self._simulation,
            self._config.joint_velocity_limit,
            None if self._config.realtime else self._advance_period,
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(METRICS_PERIOD, self._publish_metrics, clock=steady)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        if self._config.realtime:
            self._next_tick = time.monotonic()
            self.create_timer(1.0 / self._config.state_rate, self._on_tick, clock=steady)
            if self._cameras is not None:
                period = 1.0 / self._config.cameras.fps
                self.create_timer(period, self._cameras.publish, clock=steady)

    def _on_command(self, message: ArmCommand) -> None:
        """Carries out a new command, and answers every one with the state."""
        verdict = self._judge(message)
        if verdict is not Verdict.REFUSE:
            self._last_command = time.monotonic()
        elif self._intake.reason != self._alarm:
            self._alarm = self._intake.reason
            self.get_logger().warning(f"refused: {self._alarm}")
            self._say()
        if self._config.realtime:
            return
        if verdict is Verdict.CARRY_OUT:
            self._advance_period()
        else:
            self._publish_state(self._simulation.state())

    def _judge(self, message: ArmCommand) -> Verdict:
        if self._count_commanders() > 1:
            self._find_rivals()
            if self._rivals:
                return self._intake.refuse(f"more than one publishes commands: {self._rivals}")
        try:
            target = target_from_msg(message, self._config.frame_id)
        except FrameError as error:
            return self._intake.refuse(str(error))
        return self._intake.accept(target, int(message.command_seq))

    def _count_commanders(self) -> int:
        return self.count_publishers(self._commands.topic_name)

    def _find_rivals(self) -> None:
        found = self.get_publishers_info_by_topic(self._commands.topic_name)
        self._rivals = ", ".join(rivals((i.node_namespace, i.node_name) for i in found))

    def _advance(self, ticks: int) -> ArmState:
        before = time.monotonic()
        state = self._simulation.advance(ticks)
        self._physics_s += time.monotonic() - before
        self._periods += 1
        return state

    def _advance_period(self) -> ArmState:
        state = self._advance(self._simulation.ticks_per_period)
        self._publish_state(state)
        return state

    def _on_tick(self) -> None:
        """Real time: catches up with the clock, a tenth of a second at most."""
        period = 1.0 / self._config.state_rate
        late = min(time.monotonic() - self._next_tick, 0.1)
        steps = max(1, round(late / period))
        self._next_tick = time.monotonic() - late + steps * period
        tick_period = self._config.scene.physics_period
        self._publish_state(self._advance(round(steps * period / tick_period)))

    def _publish_state(self, state: ArmState) -> RobotState:
        """The state comes last: who has it has what belongs to it, or has lost it."""
        if self._cameras is not None and not self._config.realtime:
            self._cameras.publish()
        self._publish_pose(self._fixture_publisher, state, self._simulation.fixture)
        if self._object_publisher is not None:
            self._publish_pose(self._object_publisher, state, self._simulation.object)
        message = state_to_msg(state, self._config.frame_id)
        self._state_publisher.publish(message)
        self._joints.publish(state)
        if self._connector_publisher.get_subscription_count():
            pose = self._simulation.connector_pose()
            self._publish_pose(self._connector_publisher, state, pose)
        return message

    def _publish_pose(self, publisher: Publisher, state: ArmState, pose: Pose) -> None:
        header = Header(stamp=time_from_ns(state.stamp_ns), frame_id=self._config.frame_id)
        publisher.publish(PoseStamped(header=header, pose=pose_to_msg(pose)))

    def _on_reset(
        self, request: ResetScene.Request, response: ResetScene.Response
    ) -> ResetScene.Response:
        start = pose_from_msg(request.start) if request.has_start else None
        try:
            self._simulation.reset(int(request.seed), start, bool(request.randomise))
            self._episodes += 1
            response.success = True
        except SceneError as error:
            response.success = False
            response.message = str(error)
            self.get_logger().warning(f"reset refused: {error}")
        response.fixture = pose_to_msg(self._simulation.fixture)
        response.state = self._publish_state(self._simulation.state())
        return response

    def _on_recover(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._simulation.recover()
        response.success = True
        response.message = f"was in {self._simulation.state().mode.name}"
        return response

    def _watch(self) -> None:
        """Sees who is there, says what is waited for, and repeats the state in a lull.

        The repeat costs little and reaches who missed the state or came late. There is none
        before the first reset: an episode begins with one.
        """
        lull = time.monotonic() - self._last_command > WATCH_PERIOD
        if lull and self._episodes > 0 and not self._config.realtime:
            self._publish_state(self._simulation.state())
        if self._count_commanders() > 1:
            self._find_rivals()
        else:
            self._rivals = ""
        self._say()

    def _say(self) -> None:
        waiting_for = ""
        if self._count_commanders() == 0:
            waiting_for = "a publisher on arm/command"
        elif time.monotonic() - self._last_command > 2.0:
            waiting_for = "commands on arm/command"
        detail = ""
        if self._rivals:
            detail = f"ALARM: more than one node publishes arm/command: {self._rivals}"
        elif self._alarm:
            detail = f"{self._intake.refused} commands refused, last: {self._alarm}"
        self._status.say(self._phase, waiting_for, detail)

    def _publish_metrics(self) -> None:
        now = (time.monotonic(), self._periods, self._physics_s)
        seconds, periods, physics_s = (a - b for a, b in zip(now, self._measured))
        self._measured = now
        message = Metrics(
            node=self.get_name(),
            step=self._periods,
            names=["sim/periods_per_s", "sim/physics_ms", "sim/refused_commands"],
            values=[
                periods / seconds,
                1e3 * physics_s / max(periods, 1),
                float(self._intake.refused),
            ],
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._metrics_publisher.publish(message)


def main() -> None:
    """Runs the node until it is interrupted."""
    run("sim", SimNode, fast=True)


if __name__ == "__main__":
    main()
