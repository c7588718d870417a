"""Pictures over topics: what can be read, which belong to a state, cameras that pause."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from fakes import FakeSim, image_message
from rclpy.node import Node

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import Environment
from serl_actor.frames import FrameLimits, StaleImage
from serl_actor.ros_cameras import CameraTopics, ImageError, check_image, pixels_of
from serl_actor.ros_realtime_client import RealtimeClient
from serl_actor.ros_robot_client import RobotClientConfig, RosRobotClient
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose

TWO = ("wrist", "side")
TASK = TaskConfig(control_period=0.02, random_xy=0.0, random_yaw=0.0)
STILL = np.zeros(6)


class InThread:
    """Runs a call beside the test; `error` is what it raised."""

    def __init__(self, call) -> None:
        self.result: object = None
        self.error: Exception | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except Exception as error:
            self.error = error

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()


def two_colours() -> np.ndarray:
    """[2, 3, 3]: the first row (1, 2, 3), the second (4, 5, 6)."""
    return np.stack([np.tile((1, 2, 3), (3, 1)), np.tile((4, 5, 6), (3, 1))]).astype(np.uint8)


def test_rgb_stays_and_bgr_is_turned_round():
    rgb, bgr = (image_message(two_colours(), 0, name) for name in ("rgb8", "bgr8"))
    np.testing.assert_array_equal(pixels_of(rgb), two_colours())
    np.testing.assert_array_equal(pixels_of(bgr), two_colours()[:, :, ::-1])


def test_bytes_that_fill_up_a_row_are_no_pixels():
    padded = np.full((2, 12), 99, np.uint8)
    padded[:, :9] = two_colours().reshape(2, 9)
    message = image_message(two_colours(), 0)
    message.step = 12
    message.data = padded.tobytes()
    check_image(message)
    np.testing.assert_array_equal(pixels_of(message), two_colours())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoding": "mono8"}, "encoding 'mono8', expected rgb8 or bgr8"),
        ({"encoding": "16UC1"}, "encoding '16UC1'"),
        ({"height": 3}, "18 bytes, expected 3 rows of 9"),
        ({"step": 8, "height": 2}, "step is 8 for 3 pixels of 3 bytes"),
        ({"width": 0}, "0 x 2 pixels"),
    ],
)
def test_a_picture_that_cannot_be_read_is_refused(fields, message):
    picture = image_message(two_colours(), 0)
    for name, value in fields.items():
        setattr(picture, name, value)
    with pytest.raises(ImageError, match=message):
        check_image(picture)


def test_a_wrong_encoding_is_named_by_who_waits_for_the_camera(bench):
    sim = bench.sim(cameras=["wrist"])
    sim.cameras["wrist"].encoding = "yuv422"
    topics = CameraTopics(bench.add(Node, "actor"), ["wrist"])
    bench.wait(lambda: sim.cameras["wrist"].shoot(1) or topics._refused, "a picture")
    with pytest.raises(StaleImage, match=r"image_raw; refused: encoding 'yuv422', expected rgb8"):
        topics.of_now(1, 10.0)


def test_d29_the_picture_closest_to_the_state_is_taken(bench):
    topics = CameraTopics(bench.add(Node, "actor"), ["wrist"])
    for stamp_ms in (100, 160, 230):
        topics._on_image("wrist", image_message(two_colours(), stamp_ms * 1_000_000))
    assert topics.of_now(180_000_000, 10.0)["wrist"].stamp_ns == 160_000_000
    assert topics.of_now(200_000_000, 10.0)["wrist"].stamp_ns == 230_000_000


def lockstep(bench, **config) -> RosRobotClient:
    config = RobotClientConfig(**{"retry_period": 0.05, "state_timeout": 30.0, **config})
    return RosRobotClient(bench.add(Node, "actor"), config, lambda what: None, TWO)


def reset(bench, client: RosRobotClient | RealtimeClient) -> None:
    call = InThread(lambda: client.reset(TASK.target, 0))
    bench.wait(lambda: call.ended, "the reset")
    assert call.error is None


def step(bench, client: RosRobotClient) -> InThread:
    call = InThread(lambda: client.step(ArmTarget(TASK.target)))
    bench.wait(lambda: call.ended, "the step")
    return call


def test_in_lockstep_pictures_have_the_stamp_of_their_state(bench):
    bench.sim(cameras=TWO)
    client = lockstep(bench)
    reset(bench, client)
    for _ in range(3):
        state = step(bench, client).result
        frames = client.images()
        assert {name: frame.stamp_ns for name, frame in frames.items()} == dict.fromkeys(
            TWO, state.stamp_ns
        )
        assert frames["side"].pixels.shape == (32, 32, 3)


def test_in_lockstep_a_lost_picture_is_asked_for_again(bench):
    sim = bench.sim(cameras=TWO)
    client = lockstep(bench)
    reset(bench, client)
    sim.commands.clear()
    sim.cameras["side"].lost = 2
    state = step(bench, client).result
    assert [seq for seq, _ in sim.commands][:3] == [1, 1, 1]
    assert client.images()["side"].stamp_ns == state.stamp_ns


def test_in_lockstep_a_reset_whose_picture_is_lost_is_answered_again(bench):
    sim = bench.sim(cameras=TWO)
    sim.cameras["wrist"].lost = 1
    client = lockstep(bench)
    reset(bench, client)
    assert set(client.images()) == set(TWO)


def test_case_04_in_lockstep_a_camera_that_is_gone_is_named(bench):
    sim = bench.sim(cameras=TWO)
    client = lockstep(bench, state_timeout=0.5)
    reset(bench, client)
    sim.cameras["side"].closed = True
    error = step(bench, client).error
    assert isinstance(error, StaleImage)
    assert "camera side: no picture of the arm's state came" in str(error)


def test_the_simulator_says_where_the_fixture_is(bench):
    sim = bench.sim(cameras=TWO)
    sim.fixture = TASK.target @ Pose.from_rotation_vector((0.01, 0.0, 0.0), (0.0, 0.0, 0.0))
    client = lockstep(bench)
    assert client.fixture() is None
    reset(bench, client)
    assert max(client.fixture().distance(sim.fixture)) < 1e-12


class Realtime:
    """An environment over a sim paced by the clock; steps in a thread until told to stop."""

    def __init__(self, bench, patience: float) -> None:
        self.sim: FakeSim = bench.sim(realtime=True, cameras=TWO)
        limits = FrameLimits(max_age=0.2, max_skew=0.15, patience=patience)
        cameras = CamerasConfig(TWO, 32, limits=limits)
        self.waits: list[str] = []
        client = RealtimeClient(
            bench.add(Node, "actor"),
            RobotClientConfig(state_age=10.0),
            None,
            Workspace.of(TASK),
            TASK.control_period,
            self.waits.append,
            cameras,
        )
        self.environment = Environment(client, replace(TASK, episode_steps=10**6), cameras=cameras)
        self.infos: list[dict] = []
        self.stop = False
        self.call = InThread(self._run)
        bench.wait(lambda: len(self.infos) > 3 or self.call.ended, "steps")
        assert self.call.error is None

    def _run(self) -> None:
        self.environment.reset(seed=0)
        while not self.stop:
            *_, info = self.environment.step(STILL)
            self.infos.append(info)


def test_case_04_a_camera_that_pauses_is_flagged_and_the_arm_holds_until_it_is_back(bench):
    run = Realtime(bench, patience=60.0)
    run.sim.cameras["side"].closed = True
    bench.wait(lambda: run.environment.pauses, "the pause to be seen")
    done, commands = len(run.infos), len(run.sim.commands)
    bench.wait(lambda: len(run.sim.commands) > commands + 20, "commands meanwhile")
    held = [pose for _, pose in run.sim.commands[commands + 1 :]]
    assert all(max(pose.distance(held[0])) < 1e-12 for pose in held)
    assert len(run.infos) == done
    assert any("camera side" in text and "limit 0.2 s" in text for text in run.waits)
    run.sim.cameras["side"].closed = False
    bench.wait(lambda: len(run.infos) > done + 3, "steps after the pause")
    run.stop = True
    bench.wait(lambda: run.call.ended, "the end")
    assert run.call.error is None
    assert run.infos[done]["interrupted"]
    assert not all(info["interrupted"] for info in run.infos[done:])


def test_case_04_a_camera_that_is_gone_for_good_ends_the_episode(bench):
    run = Realtime(bench, patience=1.0)
    run.sim.cameras["wrist"].closed = True
    bench.wait(lambda: run.call.ended, "the end of the episode")
    assert isinstance(run.call.error, StaleImage)
    assert run.call.error.waiting_for == "camera wrist"


def test_pictures_of_the_scene_before_a_reset_are_not_those_of_the_new_one(bench):
    topics = CameraTopics(bench.add(Node, "actor"), TWO)
    for name, stamp_ms in (("wrist", 140), ("wrist", 160), ("side", 140)):
        topics._on_image(name, image_message(two_colours(), stamp_ms * 1_000_000))
    assert not topics.wait_since(150_000_000, 0.0)
    with pytest.raises(StaleImage, match="camera side: no picture came"):
        topics.of_now(150_000_000, 10.0)
    topics._on_image("side", image_message(two_colours(), 170_000_000))
    assert topics.wait_since(150_000_000, 0.0)
    stamps = {name: frame.stamp_ns for name, frame in topics.of_now(150_000_000, 10.0).items()}
    assert stamps == {"wrist": 160_000_000, "side": 170_000_000}
