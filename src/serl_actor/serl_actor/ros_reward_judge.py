"""The node `reward_classifier` as a judge: an observation goes out, its estimate comes back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from serl_actor.reward_judge import RewardConfig, Verdict
from serl_actor.ros_observation import ObservationPublisher
from serl_controllers.arm import ArmState
from serl_controllers.ros_arm import ns_from_time
from serl_controllers.ros_qos import REWARD
from serl_interfaces.msg import RewardEstimate
from serl_learner.types import Observation

TOPIC = "reward_estimate"
POLL = 0.25
"""Between two looks for the classifier [s]."""


class RosRewardJudge:
    """Called from the rollout's thread; the executor's thread receives.

    Attributes:
      missing: observations without an estimate in time.
      model_id: of the model that spoke last.
    """

    def __init__(
        self,
        node: Node,
        observations: ObservationPublisher,
        config: RewardConfig,
        lockstep: bool,
        waiting: Callable[[str], None],
    ) -> None:
        """`waiting` is told what a call waits for when it takes long, and may raise to cancel."""
        self._node = node
        self._observations = observations
        self._config, self._lockstep = config, lockstep
        self._waiting = waiting
        self._changed = threading.Condition()
        self._heard: RewardEstimate | None = None
        self.missing = 0
        self.model_id = ""
        node.create_subscription(RewardEstimate, TOPIC, self._on_estimate, REWARD)

    def begin(self) -> None:
        """Waits until the classifier is there; then observations begin anew."""
        while not self._node.count_publishers(TOPIC):
            self._waiting("the reward classifier (a publisher on reward_estimate)")
            time.sleep(POLL)
        self._observations.skip()

    def judge(self, observation: Observation, state: ArmState) -> Verdict | None:
        """The estimate with the stamp and the number of this observation; None after the limit."""
        step = self._observations.publish(observation, state)
        asked = (state.stamp_ns, step)
        config = self._config
        limit = config.lockstep_limit if self._lockstep else config.limit
        deadline = time.monotonic() + limit
        while (left := deadline - time.monotonic()) > 0.0:
            period = min(config.retry_period, left) if self._lockstep else left
            with self._changed:
                if self._changed.wait_for(lambda: _answers(self._heard, asked), period):
                    assert self._heard is not None
                    return self._verdict(self._heard)
            if self._lockstep:
                self._waiting("the reward classifier (an answer on reward_estimate)")
                self._observations.again()
        self.missing += 1
        self._node.get_logger().warning(
            f"no reward estimate for observation {step} within {limit} s, which makes it no "
            f"success ({self.missing} such so far)",
            throttle_duration_sec=5.0,
        )
        return None

    def _verdict(self, estimate: RewardEstimate) -> Verdict:
        if estimate.model_id != self.model_id:
            self._node.get_logger().info(
                f"rewards are of model {estimate.model_id}, threshold {estimate.threshold:.2f}",
                throttle_duration_sec=60.0,  # with VICE it is another one every few seconds
            )
            self.model_id = estimate.model_id
        return Verdict(float(estimate.probability), bool(estimate.success), int(estimate.frames))

    def _on_estimate(self, message: RewardEstimate) -> None:
        if not (math.isfinite(message.probability) and 0.0 <= message.probability <= 1.0):
            self._node.get_logger().warning(
                f"reward estimate dropped: probability {message.probability} is not in [0, 1]",
                throttle_duration_sec=5.0,
            )
            return
        with self._changed:
            self._heard = message
            self._changed.notify_all()


def _answers(message: RewardEstimate | None, asked: tuple[int, int]) -> bool:
    """Whether it is the estimate of the observation with this stamp [ns] and number."""
    return message is not None and (ns_from_time(message.header.stamp), message.step) == asked
