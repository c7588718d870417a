"""Markers for rviz; runs only when somebody looks (rviz:=true)."""

from __future__ import annotations

import time

from geometry_msgs.msg import PoseStamped, Vector3
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from serl_controllers.arm import ArmMode
from serl_controllers.ros_arm import pose_to_msg
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, refuse_unknown
from serl_controllers.ros_qos import INTERVENTION, METRICS, STATE, STATUS, TRANSITIONS
from serl_franka_bringup import markers
from serl_franka_bringup.markers import Box, MarkersConfig, Text
from serl_interfaces.msg import Intervention, NodeStatus, RewardEstimate, RobotState, Transition

PERIOD = 0.1  # [s]
INTERVENTION_AGE = 0.5  # what an operator did longer ago is over [s]
TEXT_HEIGHT = 0.025  # [m]


class MarkersNode(Node):
    """Callbacks store; a timer draws what is known."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ValueError: a parameter is wrong; names it.
        """
        super().__init__("markers", **kwargs)
        self._config = declare_from(self, MarkersConfig)
        refuse_unknown(self)
        self._state: RobotState | None = None
        self._driver = ""
        self._intervened_at = -1e9
        self._reward = 0.0
        self._probability: float | None = None
        self._markers = self.create_publisher(MarkerArray, "markers", METRICS)
        self._target = self.create_publisher(PoseStamped, "arm/commanded_pose", STATE)
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        self.create_subscription(NodeStatus, "status", self._on_status, STATUS)
        self.create_subscription(Intervention, "intervention", self._on_intervention, INTERVENTION)
        self.create_subscription(RewardEstimate, "reward_estimate", self._on_estimate, INTERVENTION)
        self.create_subscription(Transition, "transitions", self._on_transition, TRANSITIONS)
        self.create_timer(PERIOD, self._draw, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_state(self, message: RobotState) -> None:
        self._state = message

    def _on_status(self, message: NodeStatus) -> None:
        if message.driver:
            self._driver = message.driver

    def _on_intervention(self, message: Intervention) -> None:
        if message.active and message.device != self._driver:
            self._intervened_at = time.monotonic()

    def _on_estimate(self, message: RewardEstimate) -> None:
        self._probability = float(message.probability)

    def _on_transition(self, message: Transition) -> None:
        if not message.last:  # that one is an observation of its own
            self._reward = float(message.reward)

    def _draw(self) -> None:
        state = self._state
        if state is None:
            return
        # Not the state's stamp: simulated time is not that of TF.
        header = Header(frame_id=state.header.frame_id, stamp=self.get_clock().now().to_msg())
        intervened = time.monotonic() - self._intervened_at < INTERVENTION_AGE
        mode = ArmMode(state.mode).name
        drawn = [
            _box(markers.workspace(self._config), 0),
            *_axes(self._config, 1),
            _text(markers.driver_text(self._config, self._driver, intervened, mode), 10),
            _text(markers.reward_text(self._config, self._reward, self._probability), 11),
        ]
        for marker in drawn:
            marker.header = header
        self._markers.publish(MarkerArray(markers=drawn))
        self._target.publish(PoseStamped(header=header, pose=state.commanded_pose))


def _marker(number: int, kind: int, colour: markers.Rgba) -> Marker:
    r, g, b, a = colour
    marker = Marker(ns="serl", id=number, type=kind, color=ColorRGBA(r=r, g=g, b=b, a=a))
    marker.pose.orientation.w = 1.0
    return marker


def _box(box: Box, number: int) -> Marker:
    marker = _marker(number, Marker.CUBE, box.colour)
    point = marker.pose.position
    point.x, point.y, point.z = box.middle.tolist()
    marker.scale = Vector3(**dict(zip("xyz", box.size.tolist(), strict=True)))
    return marker


def _axes(config: MarkersConfig, first: int) -> list[Marker]:
    """The target's axes, red, green and blue for x, y and z."""
    drawn = []
    half = 0.5**0.5
    turns = ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, half, half), (0.0, -half, 0.0, half))
    for axis, turn in enumerate(turns):
        colour = [0.0, 0.0, 0.0, 1.0]
        colour[axis] = 1.0
        marker = _marker(first + axis, Marker.ARROW, tuple(colour))
        pose = config.target @ markers.Pose((0.0, 0.0, 0.0), turn)
        marker.pose = pose_to_msg(pose)
        marker.scale = Vector3(x=0.04, y=0.003, z=0.003)
        drawn.append(marker)
    return drawn


def _text(text: Text, number: int) -> Marker:
    marker = _marker(number, Marker.TEXT_VIEW_FACING, text.colour)
    point = marker.pose.position
    point.x, point.y, point.z = text.at.tolist()
    marker.scale.z = TEXT_HEIGHT
    marker.text = text.text
    return marker


def main() -> None:
    """Runs the node until it is interrupted."""
    run("markers", MarkersNode)


if __name__ == "__main__":
    main()
