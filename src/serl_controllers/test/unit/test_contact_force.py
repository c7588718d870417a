"""What the arm presses on a wall with: stiffness times clip, per axis and direction."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from conftest import START_Q, Bench, bench_spec, build_model

from serl_controllers import LawParameters
from serl_controllers.geometry import Pose

STIFFNESS = 3000.0  # [N/m]
CLIP_POSITIVE = (0.0025, 0.0015, 0.002)  # of measured minus target: bounds the push along -axis [m]
CLIP_NEGATIVE = (0.002, 0.002, 0.003)
GAP, HALF = 0.01, 0.02  # from the peg to the wall; half of the wall's thickness [m]
PEG_ONLY = 2  # a bit of contype and conaffinity


def model_with_wall(direction: np.ndarray) -> mujoco.MjModel:
    """The bench with a wall in the peg's way, that nothing but the peg touches."""
    data = mujoco.MjData(model := build_model())
    data.qpos[:7] = START_Q
    mujoco.mj_forward(model, data)
    way = model.geom("peg").size[0] + GAP + HALF
    spec = bench_spec()
    peg = spec.geom("peg")
    peg.contype = peg.conaffinity = peg.contype | PEG_ONLY
    spec.worldbody.add_geom(
        name="wall", type=mujoco.mjtGeom.mjGEOM_BOX, pos=data.geom("peg").xpos + way * direction,
        size=np.where(direction == 0.0, 0.1, HALF), contype=PEG_ONLY, conaffinity=PEG_ONLY,
        solref=(0.004, 1),
    )  # fmt: skip
    return spec.compile()


def force_on_wall(bench: Bench) -> np.ndarray:
    """Of all contacts of peg and wall, world frame [N]."""
    total = np.zeros(3)
    for index, contact in enumerate(bench.data.contact):
        force = np.zeros(6)
        mujoco.mj_contactForce(bench.model, bench.data, index, force)
        on_second = contact.frame.reshape(3, 3).T @ force[:3]  # the normal points to it
        total += on_second if contact.geom2 == bench.model.geom("wall").id else -on_second
    return total


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["+", "-"])
@pytest.mark.parametrize("axis", range(3), ids="xyz")
def test_steady_force_on_a_wall_is_stiffness_times_clip(axis, sign):
    direction = sign * np.eye(3)[axis]
    parameters = LawParameters(
        stiffness=(STIFFNESS,) * 3 + (75.0,) * 3,
        clip_positive=(*CLIP_POSITIVE, 0.05, 0.05, 0.05),
        clip_negative=(*CLIP_NEGATIVE, 0.05, 0.05, 0.05),
    )
    bench = Bench(parameters, model_with_wall(direction))
    behind = Pose(bench.tcp.position + 0.05 * direction, bench.tcp.quaternion)
    bench.follow(behind, 4.0)

    expected = STIFFNESS * (CLIP_NEGATIVE if sign > 0 else CLIP_POSITIVE)[axis]
    assert force_on_wall(bench) @ direction == pytest.approx(expected, rel=0.1)
    assert -bench.arm.wrench[:3] @ direction == pytest.approx(expected, rel=0.1)
    assert bench.arm.error_clipped[axis]
    assert np.abs(bench.arm.dq).max() < 1e-2
