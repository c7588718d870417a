"""Poses: group laws, and SciPy as the reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from serl_controllers.geometry import (
    GeometryError,
    Pose,
    matrix_from_quaternion,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)

RNG = np.random.default_rng(0)
SCALES = (1e-12, 1e-8, 1e-3, 1.0, 3.0)


def random_pose(scale: float = 1.0) -> Pose:
    return Pose.from_rotation_vector(RNG.normal(size=3), scale * RNG.uniform(-1, 1, size=3))


@pytest.mark.parametrize("scale", SCALES)
def test_exponential_map_and_its_inverse(scale):
    vector = scale * np.array((0.3, -0.5, 0.7))
    quaternion = quaternion_from_rotation_vector(vector)

    np.testing.assert_allclose(quaternion, Rotation.from_rotvec(vector).as_quat(), atol=1e-15)
    np.testing.assert_allclose(rotation_vector_from_quaternion(quaternion), vector, rtol=1e-9)
    np.testing.assert_allclose(rotation_vector_from_quaternion(-quaternion), vector, rtol=1e-9)


def test_rotation_matrix():
    for _ in range(20):
        quaternion = random_pose().quaternion
        expected = Rotation.from_quat(quaternion).as_matrix()
        np.testing.assert_allclose(matrix_from_quaternion(quaternion), expected, atol=1e-14)


def test_d02_rpy_keeps_the_sign_of_the_pitch():
    for rpy in ((3.128, 0.0177, 0.0213), (0.1, -0.4, 2.0), (0.0, 0.3, 0.0)):
        expected = Rotation.from_euler("xyz", rpy).as_matrix()
        pose = Pose.from_rpy(np.zeros(3), rpy)
        np.testing.assert_allclose(pose.rotation_matrix, expected, atol=1e-14)


def test_poses_are_a_group():
    for _ in range(20):
        a, b, c = random_pose(), random_pose(2.0), random_pose(3.0)
        point = RNG.normal(size=3)
        assert (a @ a.inverse()).distance(Pose.identity()) == pytest.approx((0, 0), abs=1e-12)
        assert ((a @ b) @ c).distance(a @ (b @ c)) == pytest.approx((0, 0), abs=1e-7)
        through = a.position + a.rotate(b.position + b.rotate(point))
        ab = a @ b
        np.testing.assert_allclose(ab.position + ab.rotate(point), through, atol=1e-12)


def test_d15_interpolation_goes_the_short_way_with_unit_quaternions():
    start = Pose.from_rpy((0, 0, 0), (3.13, 0, 0))
    end = Pose.from_rpy((1, 0, 0), (-3.10, 0, 0))
    whole = 2 * np.pi - 6.23
    for s in (0.0, 0.25, 0.5, 1.0):
        for target in (end, Pose(end.position, -end.quaternion)):
            pose = start.interpolate(target, s)
            assert np.linalg.norm(pose.quaternion) == pytest.approx(1.0, abs=1e-12)
            assert start.distance(pose) == pytest.approx((s, s * whole), abs=1e-9)


def test_vector_round_trip():
    pose = random_pose()
    np.testing.assert_array_equal(Pose.from_vector(pose.to_vector()).to_vector(), pose.to_vector())


def test_validity_is_asked_not_assumed():
    assert Pose.identity().is_valid
    assert not Pose(np.array((0, np.nan, 0)), np.array((0, 0, 0, 1.0))).is_valid
    assert not Pose(np.zeros(3), np.array((0, 0, 0, 1.01))).is_valid
    assert not Pose(np.zeros(3), np.array((0, 0, np.inf, 1))).is_valid


def test_wrong_shapes_are_refused_and_values_are_frozen():
    with pytest.raises(GeometryError, match=r"position has shape \(2,\), expected \(3,\)"):
        Pose(np.zeros(2), np.array((0, 0, 0, 1)))
    source = np.zeros(3)
    pose = Pose(source, np.array((0, 0, 0, 1)))
    source[0] = 1.0
    assert pose.position[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        pose.position[0] = 1.0
