"""The hand and the plug it holds: rigid, so the hand has no joints of its own."""

from __future__ import annotations

import math

import mujoco

from serl_controllers.geometry import Pose
from serl_sim.config import SceneConfig
from serl_sim.geoms import BOX, DARK_RGBA, LIGHT_RGBA, PLUG, add_visual_box, contact_figures

TCP_SITE = "tcp"
PLUG_BODY = "plug"
PLUG_GEOM = "plug"

FINGER_TIP = 0.1122
"""Distance of the finger tips from the hand's origin, along its z [m]."""

WRIST_EYE = (0.06, 0.0, 0.05)
"""Where the wrist camera is, in the hand's frame [m]."""

WRIST_FOVY = 64.0
"""Its angle of view [deg]."""

_FINGER_TOP = 0.06

_PLUG_RGBA = (0.95, 0.62, 0.12, 1.0)


def replace_hand(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Fingers closed on the plug, which is free to be placed anew at each reset."""
    for name in ("left_finger", "right_finger"):
        for joint in list(spec.body(name).joints):
            spec.delete(joint)
    hand = spec.body("hand")
    _, y, z = config.plug_size
    tip = FINGER_TIP + z
    if not config.mesh_visuals:
        add_visual_box(hand, (0, 0, 0.035), (0.02, 0.1, 0.032), LIGHT_RGBA)
    length = FINGER_TIP - _FINGER_TOP
    for side in (-1.0, 1.0):
        middle = (0, side * (0.5 * y + 0.004), _FINGER_TOP + 0.5 * length)
        add_visual_box(hand, middle, (0.009, 0.004, 0.5 * length), DARK_RGBA)
    hand.add_site(name=TCP_SITE, pos=[0, 0, tip], size=[0.001, 0, 0], group=4)
    _add_plug(hand.add_body(name=PLUG_BODY, pos=[0, 0, tip]), config)
    add_wrist_camera(hand, tip)


def add_wrist_camera(hand: mujoco.MjsBody, tip: float) -> None:
    """From beside the hand: the tip, at z = `tip`, in the upper half of the picture, what it goes
    to below."""
    hand.add_camera(
        name="wrist", pos=WRIST_EYE, xyaxes=[0, -1, 0, *_wrist_up(tip)], fovy=WRIST_FOVY
    )


def set_in_hand_offset(model: mujoco.MjModel, offset: Pose) -> None:
    """Places the plug in the hand: `offset` is T_tcp_plug, identity without an offset."""
    tcp = model.site(TCP_SITE)
    pose = Pose(tcp.pos, tcp.quat[[1, 2, 3, 0]]) @ offset
    body = model.body(PLUG_BODY)
    body.pos[:] = pose.position
    body.quat[:] = pose.quaternion[[3, 0, 1, 2]]


def _add_plug(plug: mujoco.MjsBody, config: SceneConfig) -> None:
    """Its frame's origin is the middle of the tip."""
    x, y, z = config.plug_size
    # Between the fingers there is more of it, which touches nothing.
    add_visual_box(plug, (0, 0, -z - 0.006), (0.5 * x + 0.001, 0.5 * y, 0.006), _PLUG_RGBA)
    plug.add_geom(
        name=PLUG_GEOM,
        type=BOX,
        pos=[0, 0, -0.5 * z],
        size=[0.5 * x, 0.5 * y, 0.5 * z],
        mass=0.005,
        rgba=_PLUG_RGBA,
        **contact_figures(config, PLUG),
    )


def _wrist_up(tip: float) -> tuple[float, float, float]:
    """Up in the wrist camera's picture, in the hand's frame, with the plug's tip at z = `tip`."""
    forward, down = WRIST_EYE[0] - 0.005, tip + 0.023 - WRIST_EYE[2]
    length = math.hypot(forward, down)
    return (-down / length, 0.0, -forward / length)
