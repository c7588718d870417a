"""Shapes of the scene: what is only seen, and what touches."""

from __future__ import annotations

from typing import Any

import mujoco

from serl_sim.config import SceneConfig

BOX, CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE
VISUAL: dict[str, Any] = {"contype": 0, "conaffinity": 0, "mass": 0.0, "group": 2}
TABLE_RGBA = (0.62, 0.58, 0.53, 1.0)
LIGHT_RGBA = (0.92, 0.93, 0.95, 1.0)
DARK_RGBA = (0.16, 0.17, 0.19, 1.0)

PLUG, FIXTURE = 1, 2
"""Collision groups; one touches the other, and nothing else."""


def add_visual_box(
    body: mujoco.MjsBody,
    position: tuple[float, ...],
    half_size: tuple[float, ...],
    rgba: tuple[float, ...],
) -> None:
    """A box in the body's frame [m] that touches nothing and weighs nothing."""
    body.add_geom(type=BOX, pos=position, size=half_size, rgba=rgba, **VISUAL)


TOOL, THING = 1, 2
"""The same where more than one thing is free: a thing touches the tool and other things."""

_STIFF: dict[str, Any] = {"solref": [0.004, 1.0], "solimp": [0.95, 0.99, 0.0005, 0.5, 2.0]}


def contact_figures(config: SceneConfig, group: int) -> dict[str, Any]:
    """Arguments of a geom of one of the collision groups of plug and fixture."""
    return {
        "contype": group,
        "conaffinity": PLUG + FIXTURE - group,
        "condim": 3,
        "friction": [config.friction, 0.0, 0.0],
        **_STIFF,
    }


def touching(config: SceneConfig, by_tool: bool = False) -> dict[str, Any]:
    """Arguments of a geom of a thing, or of the tool that picks it up; it also resists turning on
    the spot."""
    return {
        "contype": TOOL if by_tool else THING,
        "conaffinity": THING if by_tool else TOOL + THING,
        "condim": 4,
        "friction": [config.block_friction, 0.005, 0.0],
        **_STIFF,
    }
