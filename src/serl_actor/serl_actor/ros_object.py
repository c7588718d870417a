"""Where the object that a task is about is, on `scene/object` beside the arm's states."""

from __future__ import annotations

import threading

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from serl_actor.robot_client import StaleState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import ns_from_time, pose_from_msg
from serl_controllers.ros_qos import STATE
from serl_controllers.stamped_poses import StampedPoses


class ObjectTopic:
    """The callback stores, the rollout's thread waits."""

    def __init__(self, node: Node, wanted: bool, slack: float = 0.0) -> None:
        """Without being `wanted` nothing is listened to, and nothing is known.

        `slack`: a pose may be so much newer than the state that it is taken for [s].
        """
        self._node, self._wanted, self._slack_ns = node, wanted, round(1e9 * slack)
        self._changed = threading.Condition()
        self._poses = StampedPoses()
        if wanted:
            node.create_subscription(PoseStamped, "scene/object", self._on_pose, STATE)

    def wait_stamp(self, stamp_ns: int, timeout: float) -> bool:
        """Whether the pose of that state is known, if it is wanted; after at most `timeout` [s]."""
        if not self._wanted:
            return True
        with self._changed:
            return self._changed.wait_for(
                lambda: self._poses.get(stamp_ns, self._slack_ns) is not None, timeout
            )

    def at_stamp(self, stamp_ns: int) -> Pose | None:
        """T_base_object in the state of that stamp; None: it is not wanted.

        Raises:
          StaleState: it did not come.
        """
        if not self._wanted:
            return None
        with self._changed:
            pose = self._poses.get(stamp_ns, self._slack_ns)
        if pose is None:
            raise StaleState("no pose on scene/object belongs to the arm's state", "scene/object")
        return pose

    def _on_pose(self, message: PoseStamped) -> None:
        stamp_ns = ns_from_time(message.header.stamp)
        try:
            pose = pose_from_msg(message.pose)
        except ValueError as error:
            self._node.get_logger().warning(f"object dropped: {error}", throttle_duration_sec=5.0)
            return
        with self._changed:
            self._poses.add(stamp_ns, pose)
            self._changed.notify_all()
