"""Looks at ROS: distribution, middleware, and whether a message passes."""

from __future__ import annotations

import os
import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from serl_franka_bringup.checks import FAIL, OK, WARN, Finding


def check_ros() -> list[Finding]:
    """Distribution, RMW, domain and discovery range."""
    distribution = os.environ.get("ROS_DISTRO", "unknown")
    supported = distribution == "jazzy"
    discovery = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    domain = os.environ.get("ROS_DOMAIN_ID", "chosen per run")
    return [
        Finding(
            "ros",
            OK if supported else WARN,
            distribution,
            "" if supported else "this workspace is made for jazzy",
        ),
        Finding("rmw", OK, rclpy.get_rmw_implementation_identifier()),
        Finding("discovery", OK, f"range {discovery}, ROS_DOMAIN_ID {domain}"),
    ]


def check_transport(deadline: float = 10.0) -> list[Finding]:
    """Whether one node's message reaches another within `deadline` [s]."""
    contexts = [Context(), Context()]
    for context in contexts:
        rclpy.init(context=context)
    executor = SingleThreadedExecutor(context=contexts[1])
    try:
        talker = rclpy.create_node("serl_doctor_talker", context=contexts[0])
        listener = rclpy.create_node("serl_doctor_listener", context=contexts[1])
        heard: list[str] = []
        listener.create_subscription(String, "~/probe", lambda m: heard.append(m.data), 1)
        publisher = talker.create_publisher(String, "/serl_doctor_listener/probe", 1)
        executor.add_node(listener)
        begin = time.monotonic()
        while not heard and time.monotonic() - begin < deadline:
            publisher.publish(String(data="hello"))
            executor.spin_once(timeout_sec=0.05)
        took = time.monotonic() - begin
    finally:
        executor.shutdown()
        for context in contexts:
            rclpy.shutdown(context=context)
    if heard:
        return [Finding("transport", OK, f"two nodes found each other in {took:.1f} s")]
    advice = "a firewall or a container without loopback? see ROS_AUTOMATIC_DISCOVERY_RANGE"
    return [Finding("transport", FAIL, f"no message passed in {deadline:.0f} s", advice)]
