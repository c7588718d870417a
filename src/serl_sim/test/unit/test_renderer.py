"""Pictures show the scene, the right way up, and change when the arm moves."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.gl_backend import GLError
from serl_sim.renderer import Renderer

SMALL = {"wrist": (128, 128), "side": (128, 96)}
DOWN = Pose.from_rotation_vector((0.0, 0.0, 0.01), np.zeros(3))


@pytest.fixture
def renderer(draws, simulation):
    """None where nothing draws; the error for that has been looked at."""
    renderer = Renderer(simulation.model, SMALL) if draws else None
    yield renderer
    if renderer is not None:
        renderer.close()


def test_pictures_are_rgb_of_the_size_asked_for_and_not_blank(renderer, simulation):
    if renderer is None:
        return
    for camera, (width, height) in SMALL.items():
        picture = renderer.render(simulation.data, camera)
        assert picture.shape == (height, width, 3)
        assert picture.dtype == np.uint8
        assert picture.std() > 20.0


def test_the_first_row_is_on_top(renderer, simulation):
    """The hand hangs over the green board."""
    if renderer is None:
        return
    picture = renderer.render(simulation.data, "wrist").astype(int)
    green = picture[..., 1] > picture[..., 0] + 20
    assert green[-32:].mean() > 0.3
    assert green[:20].mean() < 0.05


def test_the_same_state_looks_the_same_and_another_does_not(renderer, simulation):
    if renderer is None:
        return
    first = renderer.render(simulation.data, "side")
    np.testing.assert_array_equal(renderer.render(simulation.data, "side"), first)
    kept = first.copy()
    state = simulation.state()
    for _ in range(5):
        state = simulation.step(ArmTarget(state.tcp_pose @ DOWN))
    moved = renderer.render(simulation.data, "side").astype(int)
    assert np.mean(np.abs(moved - first) > 20) > 0.01
    np.testing.assert_array_equal(first, kept)


def test_drawing_changes_nothing_of_the_simulation(renderer, simulation):
    if renderer is None:
        return
    before = (simulation.data.qpos.copy(), simulation.model.vis.global_.offwidth)
    renderer.render(simulation.data, "wrist")
    np.testing.assert_array_equal(simulation.data.qpos, before[0])
    assert simulation.model.vis.global_.offwidth == before[1]


def test_only_the_thread_that_made_it_draws(renderer, simulation):
    if renderer is None:
        return
    errors = []

    def draw():
        try:
            renderer.render(simulation.data, "side")
        except GLError as error:
            errors.append(str(error))

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert errors == ["a renderer draws only in the thread that made it"]


def test_unknown_cameras_and_sizes_are_refused(simulation):
    with pytest.raises(ValueError, match=r"no camera 'front'; known: .*spectator.*wrist"):
        Renderer(simulation.model, {"front": (64, 64)})
    with pytest.raises(ValueError, match=r"camera side: size \(0, 64\)"):
        Renderer(simulation.model, {"side": (0, 64)})


def test_the_spectator_sees_connector_and_socket_wherever_the_arm_may_be(insertion):
    """Both are in the picture, and not behind the words or the inset."""
    simulation = insertion.simulation
    model, data = simulation.model, simulation.data
    camera = model.cam("spectator").id
    focal = 0.5 / np.tan(0.5 * np.radians(model.cam_fovy[camera]))
    target = insertion.config.target.position
    for offset in [(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (0.012, 0.04)]:
        x, y, z = target + offset
        simulation.reset(0, Pose.from_rpy((x, y, z), insertion.config.target_rpy), False)
        mujoco.mj_forward(model, data)
        axes = data.cam_xmat[camera].reshape(3, 3)
        for point in (target, simulation.connector_pose().position):
            right, up, back = axes.T @ (point - data.cam_xpos[camera])
            column, row = focal * right / -back * 0.75 + 0.5, 0.5 - focal * up / -back
            assert 0.02 < column < 0.98
            assert 0.12 < row < 0.98
            assert column < 0.65 or row < 0.65
