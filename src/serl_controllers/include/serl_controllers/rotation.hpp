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

/// -1 or 1, so that `sign * q` is the same for q and -q; a half turn has w = 0.
inline double hemisphere(const Quaternion& quaternion) noexcept {
  for (const double value : {quaternion.w(), quaternion.x(), quaternion.y(), quaternion.z()}) {
    if (value != 0.0) return value < 0.0 ? -1.0 : 1.0;
  }
  return 1.0;
}

/// Rotation vector [rad] of a unit quaternion, the short way: at most pi long. The same for
/// q and -q.
inline Vector3 rotation_vector_from_quaternion(const Quaternion& quaternion) noexcept {
  const double sign = hemisphere(quaternion);
  const double sine = quaternion.vec().norm();
  const double scale = sine > 1e-9 ? 2.0 * std::atan2(sine, sign * quaternion.w()) / sine : 2.0;
  return sign * scale * quaternion.vec();
}

/// Rotation vector, in the base frame, that turns `from` into `to`.
inline Vector3 rotation_between(const Quaternion& from, const Quaternion& to) noexcept {
  return rotation_vector_from_quaternion(to * from.conjugate());
}

}  // namespace serl_controllers
