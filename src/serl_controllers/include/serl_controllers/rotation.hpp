// Rotation vectors: the exponential map of SO(3) and its inverse, exact near zero.
#pragma once

#include <cmath>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Unit quaternion of a rotation vector [rad].
inline Quaternion quaternion_from_rotation_vector(const Vector3& rotation_vector) noexcept {
  const double angle = rotation_vector.norm();
  // sin(a/2)/a, by its series where the division would lose all digits.
  const double scale = angle > 1e-6 ? std::sin(0.5 * angle) / angle : 0.5 - angle * angle / 48.0;
  Quaternion quaternion;
  quaternion.vec() = scale * rotation_vector;
  quaternion.w() = std::cos(0.5 * angle);
  return quaternion;
}

/// Rotation vector [rad] of a unit quaternion, the short way: at most pi long.
inline Vector3 rotation_vector_from_quaternion(const Quaternion& quaternion) noexcept {
  const double sign = quaternion.w() < 0.0 ? -1.0 : 1.0;
  const double sine = quaternion.vec().norm();
  const double scale = sine > 1e-9 ? 2.0 * std::atan2(sine, sign * quaternion.w()) / sine : 2.0;
  return sign * scale * quaternion.vec();
}

/// Rotation vector, in the base frame, that turns `from` into `to`.
inline Vector3 rotation_between(const Quaternion& from, const Quaternion& to) noexcept {
  return rotation_vector_from_quaternion(to * from.conjugate());
}

}  // namespace serl_controllers
