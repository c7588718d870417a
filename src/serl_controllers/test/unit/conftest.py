"""An FR3 with a peg, above a table: the model that the binding is tested on."""

from __future__ import annotations

import importlib.util
import pathlib

import mujoco
import numpy as np
import pytest

from serl_controllers import LawParameters, SimulatedArm
from serl_controllers.geometry import Pose

JOINTS = [f"fr3_joint{i}" for i in range(1, 8)]
MOTORS = [f"motor{i}" for i in range(1, 8)]
TABLE_TOP = 0.1  # [m], in the base frame
START_Q = np.array((0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785))  # the peg points down


def fr3_spec() -> mujoco.MjSpec:
    """Kinematics and inertias of the FR3 without meshes, joint friction and its own actuators."""
    package = importlib.util.find_spec("franky_sim")
    folder = pathlib.Path(package.submodule_search_locations[0])
    spec = mujoco.MjSpec.from_file(str(folder / "assets" / "fr3.xml"))
    meshes = [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_MESH]
    for unwanted in [*meshes, *spec.meshes, *spec.actuators, *spec.keys]:
        spec.delete(unwanted)
    for joint, motor in zip(JOINTS, MOTORS):
        spec.joint(joint).frictionloss = 0.0
        spec.add_actuator(name=motor, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        spec.actuator(motor).set_to_motor()
    return spec


def build_model(base: Pose | None = None, gravcomp: float = 0.0) -> mujoco.MjModel:
    """The arm on its base (world frame), a peg in its hand and a table under it."""
    return bench_spec(base, gravcomp).compile()


def bench_spec(base: Pose | None = None, gravcomp: float = 0.0) -> mujoco.MjSpec:
    """What `build_model` compiles."""
    spec = fr3_spec()
    spec.option.timestep = 1e-3
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    peg = spec.body("hand").add_body(name="peg", pos=(0, 0, 0.1))
    peg.add_geom(
        name="peg", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.01, 0, 0), pos=(0, 0, 0.04),
        mass=0.05,
    )  # fmt: skip
    peg.add_site(name="tcp", pos=(0, 0, 0.05))
    table = spec.body("base").add_geom(
        name="table", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.3, 0.5, 0.05),
        pos=(0.6, 0, TABLE_TOP - 0.05),
    )  # fmt: skip
    table.solref = (0.004, 1)
    if base is not None:
        x, y, z, w = base.quaternion
        spec.body("base").pos, spec.body("base").quat = base.position, (w, x, y, z)
    for body in spec.bodies[1:]:  # all but the world
        body.gravcomp = gravcomp
    return spec


class Bench:
    """A model, its data and the arm in them."""

    def __init__(self, parameters: LawParameters, model: mujoco.MjModel) -> None:
        self.model = model
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:7] = START_Q
        self.arm = SimulatedArm(self.model, self.data, "tcp", JOINTS, MOTORS, parameters)

    @property
    def tcp(self) -> Pose:
        return Pose(self.arm.tcp_position, self.arm.tcp_quaternion)

    def follow(self, target: Pose, seconds: float) -> list[Pose]:
        """Commands the target at 10 Hz; the pose after each command."""
        poses = []
        for _ in range(round(10 * seconds)):
            assert self.arm.set_target(target.position, target.quaternion)
            self.arm.step(100)
            poses.append(self.tcp)
        return poses


@pytest.fixture
def make_bench():
    """Builds a Bench from LawParameters' fields."""

    def make(base: Pose | None = None, **fields) -> Bench:
        return Bench(LawParameters(**fields), build_model(base))

    return make


@pytest.fixture
def bench(make_bench) -> Bench:
    """The arm with default parameters, 0.2 m above the table."""
    return make_bench()
