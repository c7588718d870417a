"""Films what the sim node does; the words in the pictures come from the actor's topics."""

from __future__ import annotations

from rclpy.node import Node

from serl_controllers.ros_qos import STATUS, TRANSITIONS
from serl_interfaces.msg import NodeStatus, Transition
from serl_sim.config import FilmConfig
from serl_sim.film import Film
from serl_sim.simulation import Simulation


class RosFilm:
    """A film that hears who drives, on `status`, and how episodes ended, on `transitions`."""

    def __init__(self, node: Node, simulation: Simulation, config: FilmConfig) -> None:
        """Raises SceneError, GLError, OSError: as Film."""
        self._film = Film(simulation, config, node.get_logger().warning)
        simulation.watch(self._film)
        node.get_logger().info(f"{self._film.backend} draws; films go to {config.directory}")
        node.create_subscription(NodeStatus, "status", self._on_status, STATUS)
        node.create_subscription(Transition, "transitions", self._on_transition, TRANSITIONS)

    def close(self) -> None:
        """Finishes the last film."""
        self._film.close()

    def _on_status(self, message: NodeStatus) -> None:
        if message.driver:
            self._film.caption(message.driver, message.detail)

    def _on_transition(self, message: Transition) -> None:
        """A stamp is the simulation's own: what comes late is not taken for the next episode's."""
        if message.last:
            outcome = "broken off" if message.aborted else "not solved"
            stamp = message.header.stamp
            self._film.outcome(
                "success" if message.success else outcome,
                stamp.sec * 1_000_000_000 + stamp.nanosec,
            )
