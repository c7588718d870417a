"""What the policy sees, on the topic `observation`, while somebody listens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header

from serl_controllers.arm import ArmState
from serl_controllers.ros_arm import time_from_ns
from serl_controllers.ros_qos import STATE
from serl_interfaces.msg import Observation
from serl_learner.ros_tensors import tensors_to_msgs


class ObservationPublisher:
    """Publishes from the rollout's thread; numbers the observations of an actor's life."""

    def __init__(self, node: Node, frame_id: str) -> None:
        """`frame_id` names the frame of `state/*`; see serl_actor.observation."""
        self._frame_id = frame_id
        self._publisher = node.create_publisher(Observation, "observation", STATE)
        self._step = 0
        self._last: tuple[Mapping[str, np.ndarray], ArmState, int] | None = None

    def __call__(self, observation: Mapping[str, np.ndarray], state: ArmState) -> None:
        """One control step begins."""
        self.publish(observation, state)

    def publish(self, observation: Mapping[str, np.ndarray], state: ArmState) -> int:
        """Publishes the next observation, and returns its number."""
        self._last = observation, state, self._step
        self._step += 1
        self.again()
        return self._last[2]

    def again(self) -> None:
        """Publishes the last one again: it may have been lost."""
        if self._last is None or not self._publisher.get_subscription_count():
            return
        observation, state, step = self._last
        stamp = time_from_ns(state.stamp_ns)
        message = Observation(
            header=Header(stamp=stamp, frame_id=self._frame_id),
            step=step,
            tensors=tensors_to_msgs(observation),
        )
        for tensor in message.tensors:
            tensor.stamp = stamp
        self._publisher.publish(message)

    def skip(self) -> None:
        """Leaves out a number: what comes next does not follow what was before."""
        self._step += 1
