"""Start poses are met, or refused by name."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from serl_controllers.geometry import Pose
from serl_sim.config import SceneError
from serl_sim.kinematics import InverseKinematics, site_pose
from serl_sim.tool import TCP_SITE


@pytest.fixture(scope="module")
def kinematics(insertion):
    model = insertion.simulation.model
    return InverseKinematics(model, model.site(TCP_SITE).id, insertion.config.home)


def test_random_starts_are_met_within_a_tenth_of_a_millimetre(insertion, kinematics):
    model = insertion.simulation.model
    data = mujoco.MjData(model)
    for seed in range(100):
        start = insertion.random_start(seed)
        data.qpos[:] = kinematics.solve(start)
        mujoco.mj_kinematics(model, data)
        metres, angle = site_pose(data, model.site(TCP_SITE).id).distance(start)
        assert metres < 1e-4
        assert angle < 1e-3
        assert np.all(data.qpos > model.jnt_range[:, 0])
        assert np.all(data.qpos < model.jnt_range[:, 1])


def test_same_pose_same_joints_whatever_came_before(insertion, kinematics):
    first = kinematics.solve(insertion.random_start(1))
    kinematics.solve(insertion.random_start(2))
    assert np.array_equal(kinematics.solve(insertion.random_start(1)), first)


def test_pose_out_of_reach_is_named(kinematics):
    far = Pose.from_rpy((1.2, 0.0, 0.1), (np.pi, 0.0, 0.0))
    with pytest.raises(SceneError, match=r"does not reach the start pose \[1\.2, 0\.0, 0\.1"):
        kinematics.solve(far)


def test_pose_that_is_none_is_refused(kinematics):
    bad = Pose(np.array((0.5, np.nan, 0.1)), np.array((0.0, 0.0, 0.0, 1.0)))
    with pytest.raises(SceneError, match="nan"):
        kinematics.solve(bad)
