"""The environment with cameras: frames of the observation, stale pictures, where the socket is."""

from __future__ import annotations

import itertools
import logging
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from conftest import PERIOD_NS, FakeArm, action_to_target, make_state
from gymnasium.utils.env_checker import check_env

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import Environment
from serl_actor.frames import Frame, FrameLimits, StaleImage, UnusableImage
from serl_actor.recorder import Recorder
from serl_actor.rollout import Choice, run_episode
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_learner.types import Source, spec_of

STILL = np.zeros(6)
CAMERAS = CamerasConfig(("wrist", "side"), 32, limits=FrameLimits(max_skew=0.05, patience=2.0))


class FakeCameras:
    """Pictures whose value counts the states; `paused` are the states at which `side` has no new
    one, counted from the first that was looked at."""

    def __init__(self, paused=frozenset(), dead_from: int = 10**6) -> None:
        self.paused, self.dead_from, self.looks, self.last = paused, dead_from, 0, 0

    def __call__(self, state: ArmState) -> dict[str, Frame]:
        number, self.looks = self.looks, self.looks + 1
        if number not in self.paused and number < self.dead_from:
            self.last = state.stamp_ns
        pixels = np.full((32, 32, 3), number % 256, np.uint8)
        return {"wrist": Frame(state.stamp_ns, pixels), "side": Frame(self.last, pixels)}


@pytest.fixture
def arm() -> FakeArm:
    return FakeArm(camera=FakeCameras())


@pytest.fixture
def environment(arm, task) -> Environment:
    return Environment(arm, task, cameras=CAMERAS)


def test_gymnasium_is_content_with_pictures(arm, environment):
    def plain(state: ArmState) -> dict[str, Frame]:
        pixels = np.full((32, 32, 3), state.command_seq % 256, np.uint8)
        return dict.fromkeys(CAMERAS.names, Frame(state.stamp_ns, pixels))

    arm.camera = plain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(environment, skip_render_check=True)


def test_the_observation_has_pictures_and_no_fine_pose(environment):
    observation, _ = environment.reset(seed=0)
    assert spec_of(observation) == {
        "image/side": ((32, 32, 3), "uint8"),
        "image/wrist": ((32, 32, 3), "uint8"),
        "state/target_offset": ((6,), "float32"),
        "state/tcp_pose": ((6,), "float32"),
        "state/tcp_twist": ((6,), "float32"),
        "state/wrench": ((6,), "float32"),
    }
    assert environment.observation_space.contains(observation)


def test_each_observation_has_the_pictures_of_its_state(environment):
    environment.reset(seed=0)
    following = environment.step(STILL)[0]
    assert following["image/wrist"][0, 0, 0] == 1


def test_d01_relative_to_the_start_vectors_turn_and_do_not_mix(arm, task):
    """Start turned by 90 degrees about z and 0.4 m away: the base's x is its -y."""
    environment = Environment(arm, task, cameras=CAMERAS)
    environment.reset(seed=0)
    start = Pose.from_rotation_vector((0.4, 0.1, 0.2), (0.0, 0.0, math.pi / 2))
    environment._observer.begin(make_state(start))
    moved = Pose.from_rotation_vector((0.45, 0.1, 0.2), (0.0, 0.0, math.pi / 2))
    environment._state = make_state(
        moved,
        tcp_twist=np.array((0.1, 0.0, 0.0, 0.0, 0.5, 0.0)),
        wrench=np.array((0.0, 0.0, 10.0, 0.5, 0.0, 0.0)),
        commanded_pose=Pose.from_rotation_vector((0.45, 0.105, 0.2), (0.0, 0.0, math.pi / 2)),
    )
    seen = environment._observe()
    np.testing.assert_allclose(seen["state/tcp_pose"], (0, -1, 0, 0, 0, 0), atol=1e-6)
    np.testing.assert_allclose(seen["state/tcp_twist"], (0, -1, 0, 1, 0, 0), atol=1e-6)
    one = math.tanh(1.0)
    np.testing.assert_allclose(seen["state/wrench"], (0, 0, one, 0, -one, 0), atol=1e-6)
    np.testing.assert_allclose(seen["state/target_offset"], (1, 0, 0, 0, 0, 0), atol=1e-6)


def test_the_start_frame_is_the_first_pose_of_each_episode(environment):
    for seed in (1, 2):
        observation, _ = environment.reset(seed=seed)
        np.testing.assert_allclose(observation["state/tcp_pose"], 0.0, atol=1e-6)


def test_in_the_fixture_frame_the_pose_is_about_the_nominal_target(arm, task):
    """Where the socket really is stays hidden."""
    arm.socket = task.target @ Pose.from_rotation_vector((0.012, 0.0, 0.0), STILL[:3])
    environment = Environment(arm, replace(task, frame="fixture"), cameras=CAMERAS)
    observation, _ = environment.reset(seed=3)
    tool = task.target.inverse() @ environment.state.tcp_pose
    np.testing.assert_allclose(observation["state/tcp_pose"][:3], tool.position / 0.05, atol=1e-6)


def test_an_unknown_frame_is_refused(task):
    with pytest.raises(ValueError, match="frame is 'base', expected start or fixture"):
        replace(task, frame="base")


def test_success_is_where_the_socket_really_is(arm, task):
    environment = Environment(arm, task, cameras=CAMERAS)
    arm.socket = task.target @ Pose.from_rotation_vector((0.012, 0.0, 0.0), STILL[:3])
    environment.reset(seed=0)
    moved = replace(task, target_position=tuple(arm.socket.position.tolist()))
    for _ in range(task.episode_steps):
        *_, terminated, _, info = environment.step(
            action_to_target(moved, environment.state.tcp_pose)
        )
        if terminated:
            break
    assert info["success"]
    assert not task.is_solved(environment.state.tcp_pose)
    assert task.is_solved(environment.state.tcp_pose, arm.socket)


def test_case_04_a_pause_is_flagged_the_arm_holds_and_goes_on(arm, environment, caplog):
    """Half a second is five periods; the second look is after the first step."""
    arm.camera = FakeCameras(paused=range(2, 7))
    environment.reset(seed=0)
    environment.step(STILL)
    before = len(arm.targets)
    with caplog.at_level(logging.WARNING):
        following, reward, terminated, truncated, info = environment.step(np.full(6, 0.3))
    executed, *held = arm.targets[before:]
    assert len(held) == 5
    assert all(max(executed.pose.distance(target.pose)) < 1e-12 for target in held)
    assert (info["interrupted"], reward, terminated, truncated) == (True, 0.0, False, False)
    assert environment.pauses == 1
    assert "camera side: the picture was taken" in caplog.text
    assert "camera side is back" in caplog.text
    assert following["image/side"][0, 0, 0] == 7
    assert environment.step(STILL)[4]["interrupted"] is False


def test_case_04_for_good_is_an_error_and_the_arm_holds(arm, environment):
    arm.camera = FakeCameras(dead_from=1)
    environment.reset(seed=0)
    with pytest.raises(StaleImage, match="camera side") as caught:
        environment.step(STILL)
    assert len(arm.targets) == 1 + 20  # the step, then 2 s of holding
    assert arm.holds == 1
    assert caught.value.waiting_for == "camera side"


def test_a_camera_that_comes_late_to_the_reset_is_waited_for(arm, environment):
    arm.camera = FakeCameras(paused=range(3))
    environment.reset(seed=0)
    assert len(arm.targets) == 3


def test_a_success_during_a_pause_counts_once_it_is_seen(arm, task):
    environment = Environment(arm, task, cameras=CAMERAS)
    environment.reset(seed=0)
    while not task.is_solved(environment.state.tcp_pose):
        looks = arm.camera.looks
        action = action_to_target(task, environment.state.tcp_pose)
        goal = environment._action_scale.target(environment.state.tcp_pose, action)
        if task.is_solved(goal):
            arm.camera.paused = range(looks, looks + 3)
        *_, terminated, _, info = environment.step(action)
    assert (terminated, info["interrupted"]) == (False, True)
    _, reward, terminated, _, info = environment.step(STILL)
    assert (reward, terminated, info["interrupted"]) == (1.0, True, False)


def test_a_crop_out_of_the_picture_holds_the_arm_and_is_told(arm, task):
    config = replace(CAMERAS, crops=(0, 16, 0, 16, 0, 16, 20, 40))
    environment = Environment(arm, task, cameras=config)
    with pytest.raises(UnusableImage, match=r"camera side: its pictures are 32 x 32"):
        environment.reset(seed=0)
    assert arm.holds == 1


class Still:
    """A driver that keeps count of the beginnings."""

    begun = 0

    def begin(self) -> None:
        self.begun += 1

    def choose(self, observation, state: ArmState) -> Choice:
        return Choice(STILL, Source.POLICY)


def run(arm: FakeArm, task, steps: int = 6):
    records, driver = [], Still()
    environment = Environment(arm, replace(task, episode_steps=steps), cameras=CAMERAS)
    recorder = Recorder(bytes(16), "actor", records.append)
    return run_episode(environment, driver, recorder, seed=0), records, driver


def test_case_04_no_transition_reaches_over_a_pause(arm, task):
    """Look 3 is after the third step: two transitions, a gap, three more."""
    arm.camera = FakeCameras(paused=range(3, 8))
    episode, records, driver = run(arm, task)
    assert (episode.steps, episode.interrupted, episode.aborted) == (5, 1, "")
    assert [record.episode for record in records] == [0, 0, 0, 1, 1, 1, 1]
    assert [record.last for record in records] == [False, False, True, False, False, False, True]
    assert driver.begun == 2
    stamps = [record.stamp_ns for record in records]
    for first, second in itertools.pairwise(records):
        if not first.last:
            assert second.stamp_ns - first.stamp_ns == PERIOD_NS
    assert stamps[3] - stamps[2] == 6 * PERIOD_NS


def test_case_04_no_old_picture_is_stored_as_a_fresh_one(arm, task):
    """Pictures show the number of the look; the looks 3 to 7 were stale."""
    arm.camera = FakeCameras(paused=range(3, 8))
    _, records, _ = run(arm, task)
    shown = [int(record.observation["image/side"][0, 0, 0]) for record in records]
    assert shown == [0, 1, 2, 8, 9, 10, 11]


def test_case_04_for_good_the_episode_ends_as_aborted(arm, task):
    arm.camera = FakeCameras(dead_from=3)
    episode, records, _ = run(arm, task)
    assert "camera side" in episode.aborted
    assert episode.waiting_for == "camera side"
    assert [int(record.observation["image/side"][0, 0, 0]) for record in records] == [0, 1, 2]
    assert records[-1].last
    assert records[-1].aborted
