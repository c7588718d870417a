"""The reward classifier as a node: an estimate for every observation of the actor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from serl_controllers.ros_arm import ns_from_time
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, keep_parameters, refuse_unknown
from serl_controllers.ros_qos import METRICS, PARAMS, REWARD, STATE
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Metrics, Observation, PolicyParams, RewardEstimate
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.model import Judgement, RewardModel, UnusableObservation
from serl_learner.rewards.model_file import read_model
from serl_learner.rewards.published import decode_model
from serl_learner.ros_params import params_from_msg
from serl_learner.ros_publications import REWARD_PARAMS
from serl_learner.ros_tensors import MalformedMessage, tensors_from_msgs
from serl_learner.vision.cameras import IMAGE

WATCH_PERIOD = 1.0
"""Between two messages on metrics and status [s]."""


@dataclass(frozen=True)
class RewardClassifierConfig:
    """Parameters of the node.

    Attributes:
      online: judge by what the learner publishes on `reward_params` (VICE), not by a file.
      model: file that `./serl train-reward` wrote.
      model_id: what it must hold; empty: anything.
      threshold: of the probability, in place of the model's.
      frames: in a row that make a success, in place of the model's.
    """

    online: bool = False
    model: str = ""
    model_id: str = ""
    threshold: float | None = None
    frames: int | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold {self.threshold} is not in (0, 1)")
        if self.frames is not None and self.frames < 1:
            raise ValueError(f"frames {self.frames} is below 1")
        if not self.model and not self.online:
            raise ValueError("model is empty, expected a file that ./serl train-reward wrote")


class RewardClassifierNode(Node):
    """Judges in the callback: an estimate that is late is worth nothing."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node. It compiles before it is to be seen on `reward_estimate`.

        Raises:
          ParameterError, ValueError: a parameter or the model is wrong; names it.
        """
        super().__init__("reward_classifier", **kwargs)
        config = declare_from(self, RewardClassifierConfig)
        refuse_unknown(self)
        keep_parameters(self)
        self._config = config
        self._estimator: RewardEstimator | None = None
        self._refusal, self._successes, self._probability = "", 0, 0.0
        self._status = StatusPublisher(self)
        self._metrics = self.create_publisher(Metrics, "metrics", METRICS)
        if config.online:
            self.create_subscription(PolicyParams, REWARD_PARAMS, self._on_params, PARAMS)
        else:
            self._begin(self._read())
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        self._watch()

    def _read(self) -> RewardModel:
        """The model of the file."""
        config = self._config
        model = read_model(Path(config.model))
        if config.model_id and config.model_id != model.model_id:
            raise ValueError(
                f"{config.model} holds model {model.model_id}, expected {config.model_id}: it was "
                "trained anew since the run was planned"
            )
        return model

    def _on_params(self, message: PolicyParams) -> None:
        """Judges by the newest classifier from the next observation on."""
        try:
            model = decode_model(params_from_msg(message))
            if self._estimator is None:
                self._begin(model)
            else:
                self._estimator.adopt(model)
        except ValueError as error:  # all that is wrong with one is
            self.get_logger().warning(f"reward parameters dropped: {error}")

    def _begin(self, model: RewardModel) -> None:
        """Compiles it, then is to be seen on `reward_estimate`."""
        config = self._config
        self._estimator = RewardEstimator(Judgement(model), config.threshold, config.frames)
        self._publisher = self.create_publisher(RewardEstimate, "reward_estimate", REWARD)
        self.create_subscription(Observation, "observation", self._on_observation, STATE)

    def _on_observation(self, message: Observation) -> None:
        assert self._estimator is not None
        stamp_ns, step = ns_from_time(message.header.stamp), int(message.step)
        estimate = self._estimator.known(stamp_ns, step)
        if estimate is None:
            try:
                images = [t for t in message.tensors if t.name.startswith(IMAGE)]
                seen = tensors_from_msgs(images)
                estimate = self._estimator.judge(stamp_ns, step, seen)
            except (MalformedMessage, UnusableObservation) as error:
                self._refusal = str(error)
                self.get_logger().warning(
                    f"no estimate for observation {step}: {error}", throttle_duration_sec=5.0
                )
                return
            self._successes += estimate.success
            self._probability = estimate.probability
        answer = RewardEstimate(
            header=message.header,
            step=message.step,
            probability=estimate.probability,
            frames=estimate.frames,
            success=estimate.success,
            model_id=self._estimator.model_id,
            threshold=self._estimator.threshold,
        )
        self._publisher.publish(answer)

    def _watch(self) -> None:
        estimator = self._estimator
        if estimator is None:
            self._status.say("loading", "a classifier of the learner (reward_params)", "")
            return
        waiting_for = "" if estimator.judged else "observations of the actor"
        detail = f"model {estimator.model_id}, threshold {estimator.threshold:.2f}"
        if self._refusal:
            detail += f"; {estimator.refused} refused, the last: {self._refusal}"
        self._status.say("judging", waiting_for, detail)
        values = {
            "judged": estimator.judged,
            "refused": estimator.refused,
            "successes": self._successes,
            "probability": self._probability,
        }
        message = Metrics(
            node=self.get_name(),
            step=estimator.judged,
            names=[f"reward/{name}" for name in values],
            values=[float(value) for value in values.values()],
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._metrics.publish(message)


def main() -> None:
    """Runs the node until it is interrupted."""
    run("reward_classifier", RewardClassifierNode)


if __name__ == "__main__":
    main()
