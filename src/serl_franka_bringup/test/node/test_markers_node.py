"""The markers' node draws what the topics tell."""

from __future__ import annotations

import pytest
from fakes import FakeLaw, FakeManager
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from serl_controllers.ros_qos import METRICS, STATUS, TRANSITIONS
from serl_franka_bringup.markers_node import MarkersNode
from serl_interfaces.msg import NodeStatus, Transition

PARAMETERS = {
    "target_position": [0.5, 0.0, 0.05],
    "target_rpy": [3.14, 0.0, 0.0],
    "box_lower": [-0.05, -0.05, 0.0, -0.1, -0.1, -0.1],
    "box_upper": [0.05, 0.05, 0.05, 0.1, 0.1, 0.1],
}


def test_box_target_driver_and_reward_are_drawn_in_the_base_frame(bench):
    manager = FakeManager()
    manager.states = {"cartesian_impedance_controller": "active"}
    bench.add(FakeLaw, manager)
    bench.add(MarkersNode, parameters=PARAMETERS)
    probe = bench.add(Node, "probe")
    heard: list[MarkerArray] = []
    probe.create_subscription(MarkerArray, "markers", heard.append, METRICS)
    status = probe.create_publisher(NodeStatus, "status", STATUS)
    transitions = probe.create_publisher(Transition, "transitions", TRANSITIONS)
    status.publish(NodeStatus(node="actor", driver="policy"))

    def texts() -> set[str]:
        transitions.publish(Transition(reward=1.0))
        transitions.publish(Transition(reward=0.0, last=True))
        return {m.text for m in heard[-1].markers if m.text} if heard else set()

    bench.wait(lambda: texts() == {"policy drives", "reward 1"}, "the texts")
    box = next(m for m in heard[-1].markers if m.type == Marker.CUBE)
    assert (box.scale.x, box.scale.z) == (pytest.approx(0.1), pytest.approx(0.05))
    assert box.pose.position.z == pytest.approx(0.075)
    assert {m.header.frame_id for m in heard[-1].markers} == {"fr3_link0"}
    assert len([m for m in heard[-1].markers if m.type == Marker.ARROW]) == 3
