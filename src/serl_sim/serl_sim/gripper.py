"""A hand whose two fingers slide, each driven as far as its force allows."""

from __future__ import annotations

import mujoco

from serl_sim.config import SceneConfig
from serl_sim.geoms import BOX, DARK_RGBA, LIGHT_RGBA, add_visual_box, touching
from serl_sim.tool import FINGER_TIP, TCP_SITE, add_wrist_camera

FINGERS = ("left_finger", "right_finger")
JOINTS = ("finger_joint1", "finger_joint2")

TRAVEL = 0.04
"""Of each finger, from closed to open [m]."""

GRASP = 0.1034
"""Distance of the tcp from the hand's origin, along its z: between the pads [m]."""

_STIFFNESS = 2000.0
"""Of a finger's drive [N/m]: a finger a centimetre from where it shall be has all its force."""

_TOP_SPEED = 0.1
"""Of a finger driven with all its force [m/s]."""

_MASS = 0.1
"""That a finger's drive feels beside the finger's own [kg]."""

_FINGER_TOP = 0.06
_HALF_SIZE = (0.009, 0.004, 0.5 * (FINGER_TIP - _FINGER_TOP))


def add_gripper(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Fingers that collide, with their drives; both are always equally far open."""
    hand = spec.body("hand")
    if not config.mesh_visuals:
        add_visual_box(hand, (0, 0, 0.035), (0.02, 0.1, 0.032), LIGHT_RGBA)
    hand.add_site(name=TCP_SITE, pos=[0, 0, GRASP], size=[0.001, 0, 0], group=4)
    add_wrist_camera(hand, GRASP)
    for name, joint in zip(FINGERS, JOINTS, strict=True):
        _add_finger(spec, name, joint, config)
    coupling = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1=JOINTS[0],
        name2=JOINTS[1],
        solref=[0.005, 1.0],
    )
    coupling.data[:2] = 0.0, 1.0


def _add_finger(spec: mujoco.MjSpec, name: str, joint: str, config: SceneConfig) -> None:
    body = spec.body(name)
    above = FINGER_TIP - _HALF_SIZE[2] - body.pos[2]
    body.add_geom(
        name=name,
        type=BOX,
        pos=[0, _HALF_SIZE[1], above],
        size=_HALF_SIZE,
        mass=0.0,
        rgba=DARK_RGBA,
        group=3 if config.mesh_visuals else 2,
        **touching(config, by_tool=True),
    )
    slide = spec.joint(joint)
    slide.range = [0.0, TRAVEL]
    slide.armature = _MASS
    slide.frictionloss = 0.0
    slide.damping[0] = config.grip_force / _TOP_SPEED
    drive = spec.add_actuator(name=joint, target=joint)
    drive.trntype = mujoco.mjtTrn.mjTRN_JOINT
    drive.set_to_position(kp=_STIFFNESS)
    drive.ctrllimited = drive.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    drive.ctrlrange = [0.0, TRAVEL]
    drive.forcerange = [-config.grip_force, config.grip_force]


def command(data: mujoco.MjData, opening: float) -> None:
    """What the fingers shall do: `opening` is 0 closed .. 1 open, more or less is as much."""
    for joint in JOINTS:
        data.actuator(joint).ctrl[0] = TRAVEL * opening


def place(data: mujoco.MjData, opening: float) -> None:
    """Puts the fingers there at once, with nothing more to do."""
    for joint in JOINTS:
        data.joint(joint).qpos[0] = TRAVEL * opening
    command(data, opening)


def opening(data: mujoco.MjData) -> float:
    """Measured, 0 closed .. 1 open."""
    travelled = sum(float(data.joint(joint).qpos[0]) for joint in JOINTS)
    return min(1.0, max(0.0, travelled / (len(JOINTS) * TRAVEL)))
