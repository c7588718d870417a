"""What each topic promises, between real publishers and subscriptions."""

from __future__ import annotations

import time

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import UInt64

from serl_controllers import ros_qos

PROFILES = {n: v for n, v in vars(ros_qos).items() if isinstance(v, QoSProfile)}
DEADLINE_S = 10.0


@pytest.fixture
def spin():
    """A node, and a function that spins it until a condition holds."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=78)
    node = rclpy.create_node("probe", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def until(condition) -> bool:
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        return condition()

    yield node, until
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_there_is_one_for_every_topic():
    assert set(PROFILES) == {
        "ACK", "COMMAND", "INTERVENTION", "METRICS", "PARAMS", "REWARD", "STATE", "STATUS",
        "TRANSITIONS",
    }  # fmt: skip


def test_only_states_may_be_lost():
    lossy = {n for n, p in PROFILES.items() if p.reliability == ReliabilityPolicy.BEST_EFFORT}
    late = {n for n, p in PROFILES.items() if p.durability == DurabilityPolicy.TRANSIENT_LOCAL}
    assert lossy == {"STATE"}
    assert late == {"ACK", "PARAMS", "STATUS"}


def test_who_comes_late_gets_the_newest_parameters_only(spin):
    node, until = spin
    publisher = node.create_publisher(UInt64, "params", ros_qos.PARAMS)
    for version in (1, 2, 3):
        publisher.publish(UInt64(data=version))
    got = []
    node.create_subscription(UInt64, "params", lambda m: got.append(m.data), ros_qos.PARAMS)
    assert until(lambda: got)
    publisher.publish(UInt64(data=4))
    assert until(lambda: got[-1] == 4)
    assert got == [3, 4]


def test_who_comes_late_gets_the_ack_of_every_learner(spin):
    node, until = spin
    for learner in range(8):
        publisher = node.create_publisher(UInt64, "ack", ros_qos.ACK)
        publisher.publish(UInt64(data=learner))
    got = set()
    node.create_subscription(UInt64, "ack", lambda m: got.add(m.data), ros_qos.ACK)
    assert until(lambda: len(got) == 8)


def test_a_slow_reader_misses_no_record_of_a_full_window(spin):
    node, until = spin
    got = []
    node.create_subscription(UInt64, "t", lambda m: got.append(m.data), ros_qos.TRANSITIONS)
    publisher = node.create_publisher(UInt64, "t", ros_qos.TRANSITIONS)
    assert until(lambda: publisher.get_subscription_count() == 1)
    for seq in range(ros_qos.TRANSITIONS_DEPTH):
        publisher.publish(UInt64(data=seq))
    assert until(lambda: len(got) == ros_qos.TRANSITIONS_DEPTH)
    assert got == list(range(ros_qos.TRANSITIONS_DEPTH))
