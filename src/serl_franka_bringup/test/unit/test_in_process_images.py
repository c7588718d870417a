"""The loop in one process, from images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serl_actor.drivers import OperatorDriver
from serl_actor.environment import Environment
from serl_actor.recorder import Recorder
from serl_actor.rollout import run_episode
from serl_franka_bringup import config, graph, in_process
from serl_franka_bringup.simulation_client import Setup, load_setup
from serl_learner.types import Record

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
SIZE = 32
SMALL = {
    "sim": {"cameras.width": 2 * SIZE, "cameras.height": 2 * SIZE},
    "learner": {
        "agent.critics": 2,
        "agent.hidden": (16, 16),
        "agent.encoder.kind": "small",
        "agent.encoder.stack": 2,
        "batch_size": 8,
        "utd_ratio": 2,
        "training_starts": 100,
    },
    "actor": {
        "task.threshold": (0.05, 0.05, 0.03, 0.5, 0.5, 0.5),
        "job.evaluation_episodes": 1,
        "cameras.image_size": SIZE,
        "cameras.crops": (0, 2 * SIZE, 0, 2 * SIZE, 16, 16 + SIZE, 16, 16 + SIZE),
    },
}


@pytest.fixture
def setup() -> Setup:
    arguments = graph.Arguments(seed=3, observation="image", demos=1, max_steps=120)
    return load_setup(str(PCB), arguments, SMALL)


def test_pictures_are_cropped_and_made_small_and_are_those_of_the_state(setup):
    environment = Environment(setup.client, setup.task, cameras=setup.cameras)
    observation, _ = environment.reset(seed=0)
    frames = setup.client.images()
    assert {frame.stamp_ns for frame in frames.values()} == {environment.state.stamp_ns}
    whole = frames["side"].pixels
    assert whole.shape == (2 * SIZE, 2 * SIZE, 3)
    np.testing.assert_array_equal(observation["image/side"], whole[16 : 16 + SIZE, 16 : 16 + SIZE])
    mean = frames["wrist"].pixels[0:2, 0:2].astype(float).mean(axis=(0, 1))
    np.testing.assert_allclose(observation["image/wrist"][0, 0], mean, atol=0.51)
    following = environment.step(np.full(6, 0.5))[0]
    assert not np.array_equal(following["image/wrist"], observation["image/wrist"])


def test_the_socket_is_elsewhere_in_every_episode(setup):
    environment = Environment(setup.client, setup.task, cameras=setup.cameras)
    records: list[Record] = []
    recorder = Recorder(bytes(16), "test", records.append)
    places = []
    for seed in range(4):
        assert run_episode(environment, OperatorDriver(setup.client, 6), recorder, seed).success
        places.append(setup.task.target.inverse() @ setup.client.fixture())
    offsets = np.array([place.position for place in places])
    assert np.abs(offsets[:, :2]).max() <= 0.015
    assert np.ptp(offsets[:, :2]) > 0.005
    assert np.abs(offsets[:, 2]).max() < 1e-9


@pytest.mark.slow
def test_training_from_several_pictures_at_once_runs_and_counts(setup):
    result = in_process.train(setup, report_every=50)
    assert result["points"][-1]["updates"] == 2 * (result["points"][-1]["env_steps"] - 100)
    assert result["evaluation_episodes"] == 1


def test_a_camera_that_the_scene_lacks_is_named():
    overrides = {"sim": {"cameras.names": ("wrist", "front")}}
    with pytest.raises(config.ConfigError, match=r"sim\.cameras: .*front"):
        load_setup(str(PCB), graph.Arguments(observation="image"), overrides)
