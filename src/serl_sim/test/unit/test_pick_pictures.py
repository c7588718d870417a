"""The pick scene has the cameras of the insertion, which see the block, the pad and the fingers."""

from __future__ import annotations

import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_sim.camera_rig import CameraRig
from serl_sim.config import CamerasConfig, FilmConfig
from serl_sim.film import Film
from serl_sim.renderer import Renderer

CAMERAS = ("side", "spectator", "wrist")


@pytest.fixture
def rig(draws, picking):
    """None where nothing draws."""
    rig = CameraRig(picking.simulation.model, CamerasConfig(names=CAMERAS)) if draws else None
    yield rig
    if rig is not None:
        rig.begin(0, randomise=False)
        rig.close()


def coloured(picture, channel):
    """Where one colour stands out, [H, W] bool."""
    others = np.delete(picture.astype(int), channel, axis=2).max(axis=2)
    return picture[..., channel] > others + 40


def test_block_and_pad_are_seen_wherever_they_are(rig, picking):
    """By the cameras that stand still; the block is in the middle of the picture."""
    if rig is None:
        return
    for seed in range(6):
        picking.simulation.reset(seed)
        pictures = rig.render(picking.simulation.data)
        for camera in ("side", "spectator"):
            red, blue = (coloured(pictures[camera], channel) for channel in (0, 2))
            assert red.sum() > 20, (seed, camera)
            assert blue[40:110, 15:115].sum() > 50, (seed, camera)
            rows, columns = np.nonzero(red)
            assert 10 < columns.min(), (seed, camera)
            assert columns.max() < 118, (seed, camera)
            assert rows.max() < 118, (seed, camera)


def test_light_and_colours_vary_and_change_no_state(rig, picking):
    if rig is None:
        return
    simulation = picking.simulation
    state = simulation.reset(1)
    plain = rig.render(simulation.data)
    simulation.dress(rig)
    dressed = simulation.reset(1)
    simulation.dress(None)
    np.testing.assert_array_equal(dressed.q, state.q)
    for camera, picture in rig.render(simulation.data).items():
        assert np.mean(np.abs(picture.astype(int) - plain[camera]) > 5) > 0.3, camera


def test_the_wrist_camera_sees_the_fingers_close(draws, picking):
    if not draws:
        return
    simulation = picking.simulation
    renderer = Renderer(simulation.model, {"wrist": (128, 128)})
    state = simulation.reset(0)
    dark = []
    for _ in range(2):
        dark.append(renderer.render(simulation.data, "wrist")[:60, 44:84].max(axis=2) < 70)
        for _ in range(5):
            simulation.step(ArmTarget(state.tcp_pose, 0.0))
    renderer.close()
    assert dark[0].mean() < 0.02
    assert dark[1].mean() > 0.2


def test_an_episode_is_filmed(draws, picking, tmp_path):
    if not draws:
        return
    simulation = picking.simulation
    film = Film(simulation, FilmConfig(str(tmp_path), width=320, height=240), lambda said: None)
    simulation.watch(film)
    state = simulation.reset(0)
    simulation.step(ArmTarget(state.tcp_pose, 0.0))
    assert "block -20.0 mm above place" in film._progress()
    film.outcome("success", simulation.state().stamp_ns)
    simulation.watch(None)
    film.close()
    assert [p.name for p in tmp_path.iterdir()] == ["001_success.mp4"]
