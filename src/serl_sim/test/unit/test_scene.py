"""The scene is what its configuration says, measured on the compiled geometry."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from serl_controllers.geometry import Pose
from serl_sim import scene
from serl_sim.config import SceneConfig
from serl_sim.fixture import FIXTURE_BODY
from serl_sim.kinematics import InverseKinematics
from serl_sim.tool import PLUG_BODY, PLUG_GEOM, TCP_SITE, set_in_hand_offset

WALLS = ("wall_x-", "wall_x+", "wall_y-", "wall_y+")


class Bench:
    """A compiled scene whose tool is put anywhere, without physics."""

    def __init__(self, **kwargs):
        self.config = SceneConfig(**kwargs)
        self.model = scene.build_model(self.config)
        self.data = mujoco.MjData(self.model)
        site = self.model.site(TCP_SITE).id
        self.kinematics = InverseKinematics(self.model, site, self.config.home)

    def put(self, *offset):
        """The tool at an offset from its seated pose, along the fixture's axes [m]."""
        pose = self.config.target @ Pose(np.array(offset), np.array((0, 0, 0, 1.0)))
        self.data.qpos[:] = self.kinematics.solve(pose)
        mujoco.mj_forward(self.model, self.data)

    def gap(self, geom):
        """Distance between plug and geom [m], negative where they overlap."""
        plug = self.model.geom(PLUG_GEOM).id
        other = self.model.geom(geom).id
        return mujoco.mj_geomDistance(self.model, self.data, plug, other, 0.1, None)

    def height(self, x, y):
        """Of what lies under (x, y) of the fixture frame, over the slot's bottom [m]."""
        target = self.config.target
        start = target @ Pose(np.array((x, y, -0.02)), np.array((0, 0, 0, 1.0)))
        groups = np.array((1, 0, 0, 0, 0, 0), np.uint8)
        hit = np.zeros(1, np.int32)
        down = target.rotate((0.0, 0.0, 1.0))
        depth = mujoco.mj_ray(self.model, self.data, start.position, down, groups, 1, -1, hit)
        return 0.02 - depth


@pytest.fixture(scope="module")
def bench():
    return Bench()


def test_arm_keeps_inertias_limits_and_a_tenth_of_the_friction(bench):
    original = mujoco.MjSpec.from_file(str(scene.assets_directory() / "fr3.xml"))
    for i, name in enumerate(scene.JOINTS):
        joint, body = original.joint(name), original.body(f"fr3_link{i + 1}")
        compiled = bench.model.joint(name)
        assert compiled.range == pytest.approx(joint.range)
        assert compiled.armature == pytest.approx(joint.armature)
        assert compiled.frictionloss == pytest.approx(0.1 * np.asarray(joint.frictionloss))
        assert bench.model.actuator(name).ctrlrange == pytest.approx(joint.actfrcrange)
        linked = bench.model.body(f"fr3_link{i + 1}")
        assert linked.mass == pytest.approx(body.mass)
        assert linked.inertia == pytest.approx(body.inertia)
    assert bench.model.nv == bench.model.nu == 7


@pytest.mark.parametrize("clearance", [0.00025, 0.0005, 0.002])
def test_clearance_is_as_stated_on_every_side(clearance):
    bench = Bench(clearance=clearance)
    bench.put(0.0, 0.0, -0.004)
    for wall in WALLS:
        assert bench.gap(wall) == pytest.approx(clearance, abs=2e-6), wall


def test_seated_tool_touches_the_board(bench):
    bench.put(0.0, 0.0, 0.0)
    assert bench.gap("board") == pytest.approx(0.0, abs=2e-6)
    assert min(bench.gap(wall) for wall in WALLS) > 0.0


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 12, endpoint=False))
def test_success_height_is_reached_in_the_slot_only(bench, angle):
    """Anywhere within the lateral threshold but outside the slot, the walls are in the way."""
    free = bench.config.clearance + bench.config.chamfer
    for radius in (1.5 * free, 0.002, 0.003):
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        bench.put(x, y, -0.001)
        assert min(bench.gap(wall) for wall in WALLS) < -0.0001


def test_profile_of_slot_lead_in_and_top(bench):
    config = bench.config
    bench.put(0.0, 0.0, -0.04)
    half_x = 0.5 * config.plug_size[0] + config.clearance
    half_y = 0.5 * config.plug_size[1] + config.clearance
    depth, chamfer = config.slot_depth, config.chamfer
    assert bench.height(0.0, 0.0) == pytest.approx(0.0, abs=1e-6)
    for sign in (-1, 1):
        inside, outside = half_x - 1e-5, half_x + chamfer + 1e-5
        assert bench.height(sign * inside, 0.0) == pytest.approx(0.0, abs=1e-6)
        assert bench.height(sign * outside, 0.0) == pytest.approx(depth, abs=1e-6)
        for share in (0.1, 0.5, 0.9):
            sloped = depth - (1.0 - share) * chamfer
            assert bench.height(sign * (half_x + share * chamfer), 0.0) == pytest.approx(
                sloped, abs=1e-6
            )
            assert bench.height(0.0, sign * (half_y + share * chamfer)) == pytest.approx(
                sloped, abs=1e-6
            )
    assert bench.height(half_x + config.wall_thickness + 0.001, 0.0) == pytest.approx(0, abs=1e-6)


def test_without_chamfer_the_edge_is_sharp():
    bench = Bench(chamfer=0.0)
    bench.put(0.0, 0.0, -0.04)
    half = 0.5 * bench.config.plug_size[0] + bench.config.clearance
    assert bench.height(half - 1e-5, 0.0) == pytest.approx(0.0, abs=1e-6)
    assert bench.height(half + 1e-5, 0.0) == pytest.approx(bench.config.slot_depth, abs=1e-6)


def test_only_plug_and_fixture_collide(bench):
    model = bench.model
    plug, fixture = model.body(PLUG_BODY).id, model.body(FIXTURE_BODY).id
    for geom in range(model.ngeom):
        body, kind = model.geom_bodyid[geom], model.geom_contype[geom]
        if kind == 1:
            assert body == plug
            assert model.geom_conaffinity[geom] == 2
        elif kind == 2:
            assert body == fixture
            assert model.geom_conaffinity[geom] == 1
        else:
            assert kind == 0
            assert model.geom_conaffinity[geom] == 0


def test_in_hand_offset_moves_the_plug_and_not_the_tool(bench):
    bench.put(0.0, 0.0, -0.03)
    offset = Pose.from_rotation_vector((0.0008, -0.0003, 0.0), (0.01, 0.0, -0.015))
    tool = bench.data.site(TCP_SITE).xpos.copy()
    set_in_hand_offset(bench.model, offset)
    mujoco.mj_forward(bench.model, bench.data)
    assert bench.data.site(TCP_SITE).xpos == pytest.approx(tool, abs=0.0)
    expected = bench.config.target @ Pose((0, 0, -0.03), (0, 0, 0, 1)) @ offset
    assert bench.data.body(PLUG_BODY).xpos == pytest.approx(expected.position, abs=1e-6)
    set_in_hand_offset(bench.model, Pose.identity())


def test_cameras_see_what_they_are_for(bench):
    """The tip lies in front of both cameras, within their field of view."""
    bench.put(0.0, 0.0, -0.01)
    tip = bench.data.body(PLUG_BODY).xpos
    for name in ("wrist", "side"):
        camera = bench.data.camera(name)
        view = camera.xmat.reshape(3, 3).T @ (tip - camera.xpos)
        assert view[2] < 0.0  # MuJoCo's cameras look along -z
        angle = np.degrees(np.arctan2(np.hypot(view[0], view[1]), -view[2]))
        assert angle < 0.5 * bench.model.camera(name).fovy[0]
