"""The cameras repeat bit for bit, see plug and socket, and their light and colours vary."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.appearance import COLOUR_SCALE, COLOUR_SHIFT, LIGHT_SCALE, TILT, Appearance
from serl_sim.camera_rig import CameraRig, intrinsics
from serl_sim.config import CamerasConfig, SceneError

CAMERAS = ("wrist", "side")
DOWN = Pose.from_rotation_vector((0.0, 0.0, 0.01), np.zeros(3))


@pytest.fixture
def rig(draws, moved):
    """None where nothing draws; the error for that has been looked at."""
    rig = CameraRig(moved.simulation.model, CamerasConfig(names=CAMERAS)) if draws else None
    yield rig
    if rig is not None:
        rig.begin(0, randomise=False)
        rig.close()


@pytest.fixture
def appearance(moved):
    appearance = Appearance(moved.simulation.model)
    yield appearance
    appearance.restore()


def episode(rig, simulation, seed, steps=3):
    """All images of a short one."""
    rig.begin(seed)
    state = simulation.reset(seed)
    images = [rig.render(simulation.data)]
    for _ in range(steps):
        state = simulation.step(ArmTarget(state.tcp_pose @ DOWN))
        images.append(rig.render(simulation.data))
    return images


def looks(model):
    """All that Appearance may change."""
    return np.concatenate(
        [
            np.ravel(part)
            for part in (
                model.vis.headlight.ambient,
                model.vis.headlight.diffuse,
                model.light_diffuse,
                model.light_dir,
                model.geom_rgba,
            )
        ]
    )


def column_row(simulation, camera, point, width=128, height=128):
    """Pixel [2] at which the intrinsics say that a point of the base frame [m] is."""
    model, data = simulation.model, simulation.data
    mujoco.mj_forward(model, data)
    number = model.cam(camera).id
    right, up, back = data.cam_xmat[number].reshape(3, 3).T @ (point - data.cam_xpos[number])
    u, v, w = intrinsics(model, camera, width, height) @ (right, -up, -back)
    return np.array((u / w, v / w))


def corners(simulation):
    """Of the plug, base frame [8, 3] [m]."""
    plug = simulation.data.geom("plug")
    half = simulation.model.geom("plug").size
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    return plug.xpos + (signs * half) @ plug.xmat.reshape(3, 3).T


def test_images_are_rgb_of_every_camera(rig, moved):
    if rig is None:
        return
    images = rig.render(moved.simulation.data)
    assert tuple(images) == CAMERAS
    for image in images.values():
        assert image.shape == (128, 128, 3)
        assert image.dtype == np.uint8
        assert image.std() > 20.0


def test_same_seed_same_pixels_whatever_came_before(rig, moved):
    if rig is None:
        return
    first = episode(rig, moved.simulation, 3)
    episode(rig, moved.simulation, 4)
    for images, again in zip(first, episode(rig, moved.simulation, 3), strict=True):
        for name in CAMERAS:
            np.testing.assert_array_equal(images[name], again[name])
    for one, next_one in itertools.pairwise(first):
        assert not np.array_equal(one["side"], next_one["side"])


def test_a_second_rig_sees_the_same(rig, moved):
    if rig is None:
        return
    first = episode(rig, moved.simulation, 3)
    rig.begin(0, randomise=False)
    rig.close()
    other = CameraRig(moved.simulation.model, CamerasConfig(names=CAMERAS))
    again = episode(other, moved.simulation, 3)
    other.begin(0, randomise=False)
    other.close()
    for name in CAMERAS:
        np.testing.assert_array_equal(first[-1][name], again[-1][name])


def test_both_cameras_see_that_the_socket_is_elsewhere(rig, moved):
    """With the same light and the plug where it was."""
    if rig is None:
        return
    rig.begin(0, randomise=False)
    start, seen = moved.config.nominal_start, []
    for seed in range(2):
        moved.simulation.reset(seed, start)
        seen.append(rig.render(moved.simulation.data))
    for name in CAMERAS:
        changed = np.abs(seen[0][name].astype(int) - seen[1][name]).max(axis=2) > 30
        assert changed.mean() > 0.01, name


def test_they_look_at_the_joints_and_not_at_stale_poses_of_bodies(rig, moved):
    if rig is None:
        return
    rig.begin(0, randomise=False)
    simulation = moved.simulation
    simulation.reset(1)
    simulation.step(ArmTarget(simulation.state().tcp_pose @ DOWN))
    before = {name: getattr(simulation.data, name).copy() for name in ("qpos", "xpos", "qacc")}
    images = rig.render(simulation.data)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(simulation.data, name), value)
    mujoco.mj_forward(simulation.model, simulation.data)
    for name, image in rig.render(simulation.data).items():
        np.testing.assert_array_equal(image, images[name])


def test_the_plug_is_where_the_intrinsics_say(rig, moved):
    """Its lowest edge or corner in the picture, by its colour, is that of its box projected."""
    if rig is None:
        return
    rig.begin(0, randomise=False)
    simulation = moved.simulation
    simulation.reset(0, randomise=False)
    for name, image in rig.render(simulation.data).items():
        red, green, blue = image.astype(int).transpose(2, 0, 1)
        rows, columns = np.nonzero((red > green + 40) & (green > blue + 40))
        pixels = np.array([column_row(simulation, name, corner) for corner in corners(simulation)])
        lowest = pixels[:, 1].max()
        assert rows.max() == pytest.approx(lowest, abs=1.0), name
        expected = pixels[pixels[:, 1] > lowest - 0.5, 0].mean()
        assert columns[rows == rows.max()].mean() == pytest.approx(expected, abs=1.5), name


def test_intrinsics_are_those_of_the_angle_of_view(moved):
    model = moved.simulation.model
    matrix = intrinsics(model, "side", 160, 128)
    assert model.cam("side").fovy[0] == 24.0
    focal = 64.0 / np.tan(np.radians(12.0))
    np.testing.assert_allclose(matrix, [[focal, 0, 79.5], [0, focal, 63.5], [0, 0, 1]])


def test_the_side_camera_sees_every_socket_and_the_wrist_camera_the_tip(moved):
    """The tip always at the same place, with room for the socket below."""
    simulation = moved.simulation
    for seed in range(30):
        state = simulation.reset(seed, moved.random_start(seed))
        column, row = column_row(simulation, "side", simulation.fixture.position)
        assert 20.0 < column < 107.0, seed
        assert 20.0 < row < 107.0, seed
        column, row = column_row(simulation, "wrist", state.tcp_pose.position)
        assert column == pytest.approx(63.5, abs=0.5)
        assert 40.0 < row < 70.0


def test_light_and_colours_vary_within_bounds(appearance, moved):
    model = moved.simulation.model
    nominal = looks(model)
    rgba, direction = model.geom_rgba.copy(), model.light_dir[0].copy()
    strength, ambient = model.light_diffuse.copy(), model.vis.headlight.ambient.copy()
    drawn = []
    for seed in range(100):
        appearance.draw(seed)
        drawn.append(looks(model))
        for scale in (model.light_diffuse / strength, model.vis.headlight.ambient / ambient):
            assert np.all((LIGHT_SCALE[0] - 1e-6 <= scale) & (scale <= LIGHT_SCALE[1] + 1e-6))
        low = np.clip(COLOUR_SCALE[0] * rgba[:, :3] - COLOUR_SHIFT, 0.0, 1.0)
        high = np.clip(COLOUR_SCALE[1] * rgba[:, :3] + COLOUR_SHIFT, 0.0, 1.0)
        rgb = model.geom_rgba[:, :3]
        assert np.all((low - 1e-6 <= rgb) & (rgb <= high + 1e-6))
        np.testing.assert_array_equal(model.geom_rgba[:, 3], rgba[:, 3])
        light = model.light_dir[0]
        assert np.linalg.norm(light) == pytest.approx(1.0, abs=1e-6)
        assert light[2] < -0.6, "it comes from above"
        tilt = light[:2] / light[2] * direction[2] - direction[:2]
        assert np.all(np.abs(tilt) <= TILT + 1e-6)
    spread = np.std(drawn, axis=0)
    assert np.all(spread[: nominal.size - rgba.size] > 0.0)
    colours = spread[-rgba.size :].reshape(rgba.shape)[:, :3]
    assert np.all(colours.max(axis=1) > 0.01)


def test_one_thing_keeps_one_colour(appearance, moved):
    """The socket's boxes look alike, and unlike the board."""
    model = moved.simulation.model
    walls = [i for i in range(model.ngeom) if model.geom(i).name.startswith(("wall", "rim"))]
    assert len(walls) == 8
    for seed in range(5):
        appearance.draw(seed)
        assert len(np.unique(model.geom_rgba[walls], axis=0)) == 1
        contrast = np.abs(model.geom_rgba[walls[0]] - model.geom("board").rgba).max()
        assert contrast > 0.3


def test_the_same_seed_looks_the_same_and_restoring_brings_the_scene_back(appearance, moved):
    model = moved.simulation.model
    nominal = looks(model)
    appearance.draw(1)
    first = looks(model)
    appearance.draw(2)
    assert not np.array_equal(looks(model), first)
    appearance.draw(1)
    np.testing.assert_array_equal(looks(model), first)
    appearance.restore()
    np.testing.assert_array_equal(looks(model), nominal)


def test_who_watches_sees_an_episode_begin_in_its_own_light(appearance, moved):
    simulation, model, seen = moved.simulation, moved.simulation.model, []

    def keep():
        seen.append((looks(model), simulation.data.light_xdir.copy()))

    simulation.dress(SimpleNamespace(begin=lambda seed, randomise: appearance.draw(seed)))
    simulation.watch(SimpleNamespace(every=10**6, begin=keep))
    try:
        for seed in (1, 2):
            simulation.reset(seed)
    finally:
        simulation.dress(None)
        simulation.watch(None)
    for seed, (drawn, direction) in zip((1, 2), seen, strict=True):
        appearance.draw(seed)
        np.testing.assert_array_equal(drawn, looks(model))
        np.testing.assert_allclose(direction, model.light_dir, atol=1e-12)


def test_looks_are_not_drawn_unless_wanted(draws, moved):
    if not draws:
        return
    model = moved.simulation.model
    nominal = looks(model)
    rig = CameraRig(model, CamerasConfig(names=CAMERAS, randomise=False))
    rig.begin(1)
    rig.close()
    np.testing.assert_array_equal(looks(model), nominal)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"names": ("side", "side")}, "expected each camera once"),
        ({"width": 8}, "width is 8, expected 16 .. 1280"),
        ({"fps": 500.0}, "fps is 500.0 Hz, expected 1 .. 100"),
        ({"fps": float("nan")}, "fps is nan Hz"),
    ],
)
def test_bad_figures_of_cameras_are_refused(values, message):
    with pytest.raises(SceneError, match=message):
        CamerasConfig(**values)


def test_unknown_cameras_are_named(moved):
    with pytest.raises(ValueError, match=r"no camera 'front'; known: .*side"):
        CameraRig(moved.simulation.model, CamerasConfig(names=("front",)))
    with pytest.raises(SceneError, match=r"cameras\.names is empty"):
        CameraRig(moved.simulation.model, CamerasConfig())
