"""The robot as the actor's parameters describe it."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from serl_actor.ros_actor_config import ActorNodeConfig
from serl_actor.ros_realtime_client import RealtimeClient
from serl_actor.ros_robot_client import RosRobotClient
from serl_actor.workspace import Workspace


def make_robot(
    node: Node,
    config: ActorNodeConfig,
    waiting: Callable[[str], None],
    held: Callable[[], bool],
) -> RosRobotClient | RealtimeClient:
    """A client of the arm; `waiting` and `held` as its kinds take them."""
    period = config.task.control_period
    if config.lockstep:
        return RosRobotClient(node, config.robot, waiting, config.cameras.names, period)
    motion = None if config.simulated else config.motion
    workspace = Workspace.of(config.task)
    return RealtimeClient(
        node, config.robot, motion, workspace, period, waiting, config.cameras, held
    )
