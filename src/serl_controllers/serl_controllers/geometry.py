"""Rigid poses: position and unit quaternion (xyzw), composed and inverted in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = Sequence[float] | Array

NORM_TOLERANCE = 1e-3
"""How far the norm of a quaternion may be from 1; the impedance law refuses what is farther."""


class GeometryError(ValueError):
    """An array that is not what a pose is made of; the message shows it."""


def quaternion_product(a: Vector, b: Vector) -> Array:
    """Rotation `a` after rotation `b`, xyzw [4]."""
    ax, ay, az, aw = (float(v) for v in a)
    bx, by, bz, bw = (float(v) for v in b)
    return np.array(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def quaternion_from_rotation_vector(rotation_vector: Vector) -> Array:
    """Unit quaternion xyzw [4] of a rotation vector [3] [rad]."""
    x, y, z = (float(v) for v in rotation_vector)
    angle = math.sqrt(x * x + y * y + z * z)
    # sin(a/2)/a, by its series where the division would lose all digits.
    scale = math.sin(0.5 * angle) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    return np.array((scale * x, scale * y, scale * z, math.cos(0.5 * angle)))


def rotation_vector_from_quaternion(quaternion: Vector) -> Array:
    """Rotation vector [3] [rad] of a unit quaternion xyzw; the short way, at most pi long."""
    x, y, z, w = (float(v) for v in quaternion)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-9 else 2.0
    return np.array((scale * x, scale * y, scale * z))


def quaternion_from_rpy(rpy: Vector) -> Array:
    """Unit quaternion xyzw [4] of roll, pitch, yaw [rad] about the fixed axes x, y, z (URDF)."""
    roll, pitch, yaw = (0.5 * float(v) for v in rpy)
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        (
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        )
    )


def matrix_from_quaternion(quaternion: Vector) -> Array:
    """Rotation matrix [3, 3] of a unit quaternion xyzw."""
    x, y, z, w = (float(v) for v in quaternion)
    return np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
    )


def _fixed(value: Vector, size: int, name: str) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.shape != (size,):
        raise GeometryError(f"{name} has shape {array.shape}, expected ({size},): {value!r}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame B seen from a frame A, `T_A_B`; also the transform that takes points from B to A.

    Shapes are checked; values are carried as they come, so that a bad command reaches the one
    place that refuses and counts it. `is_valid` says whether they are usable.

    Attributes:
      position: origin of B in A, [3] [m], read-only.
      quaternion: orientation of B in A, xyzw [4], unit, read-only. q and -q are the same.
    """

    position: Array
    quaternion: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", _fixed(self.position, 3, "position"))
        object.__setattr__(self, "quaternion", _fixed(self.quaternion, 4, "quaternion"))

    @classmethod
    def identity(cls) -> Pose:
        """The frame itself."""
        return cls(np.zeros(3), np.array((0.0, 0.0, 0.0, 1.0)))

    @classmethod
    def from_rotation_vector(cls, position: Vector, rotation_vector: Vector) -> Pose:
        """From position [3] [m] and rotation vector [3] [rad]."""
        return cls(np.asarray(position), quaternion_from_rotation_vector(rotation_vector))

    @classmethod
    def from_rpy(cls, position: Vector, rpy: Vector) -> Pose:
        """From position [3] [m] and roll, pitch, yaw [3] [rad] about the fixed axes x, y, z."""
        return cls(np.asarray(position), quaternion_from_rpy(rpy))

    @classmethod
    def from_vector(cls, vector: Vector) -> Pose:
        """From position and quaternion in one array [7], as `to_vector` gives it."""
        array = _fixed(vector, 7, "pose vector")
        return cls(array[:3], array[3:])

    def to_vector(self) -> Array:
        """Position and quaternion xyzw in one array, [7]."""
        return np.concatenate((self.position, self.quaternion))

    @property
    def is_valid(self) -> bool:
        """All values finite and the quaternion of unit norm within NORM_TOLERANCE."""
        norm = math.sqrt(float(self.quaternion @ self.quaternion))
        return bool(np.isfinite(self.position).all()) and abs(norm - 1.0) <= NORM_TOLERANCE

    @property
    def rotation_vector(self) -> Array:
        """Orientation of B in A as a rotation vector, [3] [rad], at most pi long."""
        return rotation_vector_from_quaternion(self.quaternion)

    @property
    def rotation_matrix(self) -> Array:
        """Orientation of B in A, [3, 3]; takes vectors from B to A."""
        return matrix_from_quaternion(self.quaternion)

    def __matmul__(self, other: Pose) -> Pose:
        """T_A_B @ T_B_C = T_A_C."""
        return Pose(
            self.position + self.rotate(other.position),
            quaternion_product(self.quaternion, other.quaternion),
        )

    def inverse(self) -> Pose:
        """T_B_A."""
        conjugate = self.quaternion * np.array((-1.0, -1.0, -1.0, 1.0))
        return Pose(-(matrix_from_quaternion(conjugate) @ self.position), conjugate)

    def rotate(self, vector: Vector) -> Array:
        """A free vector [3] given in B, in A."""
        return self.rotation_matrix @ np.asarray(vector, dtype=np.float64)

    def interpolate(self, other: Pose, s: float) -> Pose:
        """The pose a share `s` of the way to `other`: straight line, and slerp the short way."""
        step = quaternion_product(self.inverse().quaternion, other.quaternion)
        turn = quaternion_from_rotation_vector(s * rotation_vector_from_quaternion(step))
        position = (1.0 - s) * self.position + s * other.position
        return Pose(position, quaternion_product(self.quaternion, turn))

    def distance(self, other: Pose) -> tuple[float, float]:
        """Distance of the origins [m] and angle between the orientations [rad]."""
        turn = quaternion_product(self.inverse().quaternion, other.quaternion)
        metres = float(np.linalg.norm(other.position - self.position))
        return metres, float(np.linalg.norm(rotation_vector_from_quaternion(turn)))
