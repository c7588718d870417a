"""Board and socket of the scene, boxes all of them."""

from __future__ import annotations

import math

import mujoco

from serl_controllers.geometry import Pose
from serl_sim.config import SceneConfig
from serl_sim.geoms import BOX, FIXTURE, contact_figures

FIXTURE_BODY = "fixture"

_SOCKET_RGBA = (0.86, 0.86, 0.82, 1.0)
_BOARD_RGBA = (0.06, 0.40, 0.20, 1.0)


def add_fixture(spec: mujoco.MjSpec, config: SceneConfig) -> None:
    """Board and socket in the fixture frame: z down, the slot's bottom at 0."""
    target = config.target
    fixture = spec.worldbody.add_body(
        name=FIXTURE_BODY,
        pos=target.position.tolist(),
        quat=target.quaternion[[3, 0, 1, 2]].tolist(),
    )
    contact = contact_figures(config, FIXTURE)
    fixture.add_geom(
        name="board",
        type=BOX,
        pos=[0, 0, 0.005],
        size=[0.09, 0.075, 0.005],
        rgba=_BOARD_RGBA,
        **contact,
    )
    for axis in (0, 1):
        for sign in (-1, 1):
            for name, pos, size, turn in _wall(config, axis, sign):
                fixture.add_geom(
                    name=f"{name}_{'xy'[axis]}{'-+'[sign > 0]}",
                    type=BOX,
                    pos=pos,
                    size=size,
                    quat=turn,
                    rgba=_SOCKET_RGBA,
                    **contact,
                )


def set_fixture(model: mujoco.MjModel, pose: Pose) -> None:
    """Moves board and socket to `pose`, T_base_fixture, which is parallel to where they were."""
    model.body(FIXTURE_BODY).pos[:] = pose.position


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
