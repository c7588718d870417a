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
    task, period = config.task, config.task.control_period
    wants_object = config.simulated and task.solved_by_object
    if config.lockstep:
        names = config.cameras.names
        return RosRobotClient(node, config.robot, waiting, names, period, wants_object)
    return RealtimeClient(
        node,
        config.robot,
        None if config.simulated else config.motion,
        Workspace.of(task),
        period,
        waiting,
        config.cameras,
        held,
        wants_object,
        task.released if task.moves_gripper else None,
    )
