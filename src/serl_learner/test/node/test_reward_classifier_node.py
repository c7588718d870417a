"""The classifier node over real topics: each observation gets the estimate of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rclpy.node import Node
from std_msgs.msg import Header

from serl_controllers.ros_arm import time_from_ns
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import PARAMS, REWARD, STATE, STATUS
from serl_interfaces.msg import NodeStatus, Observation, PolicyParams, RewardEstimate
from serl_learner import frame_encoder
from serl_learner.reward_classifier_node import RewardClassifierNode
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.head import RewardHead
from serl_learner.rewards.model import RewardModel
from serl_learner.rewards.model_file import read_model, write_model
from serl_learner.rewards.published import encode_model
from serl_learner.ros_params import params_to_msg
from serl_learner.ros_publications import REWARD_PARAMS
from serl_learner.ros_tensors import tensors_to_msgs
from serl_learner.vision.trunk import Trunk

SIDE = 16
CONFIG = ClassifierConfig(hidden=4)


def features(params, images):
    n, h, w, c = images.shape
    cells = images.astype(jnp.float32).reshape(n, h // 8, 8, w // 8, 8, c)
    return cells.mean(axis=(2, 4)) * params["scale"]


TINY = Trunk("tiny", "0" * 64, {"scale": jnp.float32(1.0)}, features, 8, 3)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A model that says 1/2 of everything, three frames in a row over 0.4 being a success."""
    monkeypatch.setattr(frame_encoder, "_load", lambda config: TINY)
    maps = {"features/wrist": np.zeros((1, 2, 2, 3), np.float32)}
    params = RewardHead(CONFIG).init(jax.random.PRNGKey(0), maps)["params"]
    zeros = jax.tree.map(lambda leaf: np.zeros((CONFIG.members, *leaf.shape), np.float32), params)
    model = RewardModel(CONFIG, {"wrist": (SIDE, SIDE)}, zeros, TINY.weights_hash, 0.4, 3)
    write_model(tmp_path / "classifier.model", model)
    return tmp_path / "classifier.model"


class Actor(Node):
    """Publishes observations, hears estimates."""

    def __init__(self, **kwargs) -> None:
        super().__init__("actor", **kwargs)
        self.heard: list[RewardEstimate] = []
        self.statuses: list[NodeStatus] = []
        self.out = self.create_publisher(Observation, "observation", STATE)
        self.create_subscription(RewardEstimate, "reward_estimate", self.heard.append, REWARD)
        self.create_subscription(NodeStatus, "status", self.statuses.append, STATUS)

    def show(self, step: int, **images: np.ndarray) -> None:
        tensors = {f"image/{name}": image for name, image in images.items()}
        tensors["state/a"] = np.zeros(2, np.float32)
        header = Header(stamp=time_from_ns(1000 * step), frame_id="start")
        self.out.publish(Observation(header=header, step=step, tensors=tensors_to_msgs(tensors)))


@pytest.fixture
def actor(bench):
    return bench.add(Actor)


def connect(bench, actor, path, **parameters):
    node = bench.add(RewardClassifierNode, parameters={"model": str(path), **parameters})
    bench.wait(
        lambda: actor.out.get_subscription_count() and node._publisher.get_subscription_count(),
        "the classifier to listen and be heard",
    )
    return node


def ask(bench, actor, step: int) -> RewardEstimate:
    count = len(actor.heard)
    actor.show(step, wrist=np.zeros((SIDE, SIDE, 3), np.uint8))
    bench.wait(lambda: len(actor.heard) > count, f"the estimate of {step}")
    return actor.heard[-1]


def test_estimates_carry_stamp_step_model_and_threshold(bench, actor, path):
    connect(bench, actor, path)
    estimate = ask(bench, actor, 7)
    assert estimate.header.stamp == time_from_ns(7000)
    assert estimate.step == 7
    assert estimate.probability == pytest.approx(0.5)
    assert estimate.threshold == pytest.approx(0.4)
    assert estimate.model_id == read_model(path).model_id


def test_success_after_three_frames_in_a_row_however_often_each_is_shown(bench, actor, path):
    connect(bench, actor, path)
    steps = (1, 2, 2, 2, 3, 5, 6, 7)
    found = [ask(bench, actor, step) for step in steps]
    assert [estimate.frames for estimate in found] == [1, 2, 2, 2, 3, 1, 2, 3]
    assert [estimate.success for estimate in found] == [estimate.frames == 3 for estimate in found]


def test_the_threshold_may_be_set(bench, actor, path):
    connect(bench, actor, path, threshold=0.6, frames=1)
    assert not ask(bench, actor, 1).success


def test_an_observation_without_its_camera_or_of_another_size_gets_no_estimate(bench, actor, path):
    connect(bench, actor, path)
    actor.show(1, side=np.zeros((SIDE, SIDE, 3), np.uint8))
    said = "camera 'wrist' is missing; there are: side"
    bench.wait(lambda: any(said in s.detail for s in actor.statuses), "the reason")
    actor.show(2, wrist=np.zeros((SIDE, 8, 3), np.uint8))
    said = "camera 'wrist' has images uint8 [16, 8, 3]"
    bench.wait(lambda: any(said in s.detail for s in actor.statuses), "the reason")
    assert not actor.heard
    assert ask(bench, actor, 3).step == 3


def test_with_vice_it_judges_by_what_the_learner_publishes_last(bench, actor, path):
    """Before anything came it is not to be seen; what is damaged is dropped, the old one stays."""
    out = actor.create_publisher(PolicyParams, REWARD_PARAMS, PARAMS)
    node = bench.add(RewardClassifierNode, parameters={"online": True})
    bench.wait(lambda: any("reward_params" in s.waiting_for for s in actor.statuses), "its wait")
    assert node.count_publishers("reward_estimate") == 0

    first = read_model(path)
    out.publish(params_to_msg(encode_model(first, 1)))
    bench.wait(lambda: actor.out.get_subscription_count(), "the classifier to listen")
    bench.wait(lambda: actor.count_publishers("reward_estimate"), "the classifier to be heard")
    assert ask(bench, actor, 1).model_id == first.model_id

    second = replace(first, params=jax.tree.map(lambda leaf: leaf + 1.0, first.params))
    damaged = encode_model(second, 2)
    out.publish(params_to_msg(replace(damaged, data=damaged.data[:-1] + b"x")))
    assert ask(bench, actor, 2).model_id == first.model_id
    out.publish(params_to_msg(encode_model(second, 3)))
    step = count(3)
    bench.wait(lambda: ask(bench, actor, next(step)).model_id == second.model_id, "the new model")
    assert actor.heard[-1].probability > 0.9


def test_a_model_that_was_trained_anew_is_refused(bench, path):
    with pytest.raises(ValueError, match="expected other: it was trained anew"):
        bench.add(RewardClassifierNode, parameters={"model": str(path), "model_id": "other"})


def test_without_a_model_it_says_what_makes_one(bench):
    with pytest.raises(ParameterError, match=r"a file that ./serl train-reward wrote"):
        bench.add(RewardClassifierNode)
