"""A process that publishes policy parameters once and then only stays."""

from __future__ import annotations

import rclpy
from rclpy.node import Node

from serl_actor.observation import KEYS
from serl_controllers.ros_qos import PARAMS
from serl_interfaces.msg import PolicyParams
from serl_learner.agents.config import SACConfig
from serl_learner.params_codec import encode
from serl_learner.policy import Policy
from serl_learner.ros_params import params_to_msg

LARGE = SACConfig(hidden=(2240, 2240))
"""Of a policy of 20 MB."""


def large_policy() -> Policy:
    """Its parameters are those of a layout, so both sides agree on them."""
    return Policy(dict.fromkeys(KEYS, ((6,), "float32")), 6, LARGE)


def main() -> None:
    """Publishes version 5, says how many bytes it has, and spins."""
    policy = large_policy()
    rclpy.init()
    node = Node("learner")
    publisher = node.create_publisher(PolicyParams, "policy_params", PARAMS)
    encoded = encode(policy.template, 5, 1, policy.layout_hash)
    publisher.publish(params_to_msg(encoded))
    print(len(encoded.data), encoded.crc32, flush=True)
    rclpy.spin(node)


if __name__ == "__main__":
    main()
