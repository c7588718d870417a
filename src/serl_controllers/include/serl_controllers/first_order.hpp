// First-order low-pass filters with a time constant in seconds, exact for any time step.
#pragma once

#include <cmath>

#include "serl_controllers/rotation.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Share of the way to its input that a first-order filter goes in `dt` [s].
/// A time constant of 0 [s] goes all the way.
inline double filter_share(double dt, double time_constant) noexcept {
  return time_constant > 0.0 ? -std::expm1(-dt / time_constant) : 1.0;
}

/// Moves `value` a share of the way to `target`.
template <typename T>
void approach(T& value, const T& target, double share) noexcept {
  value += share * (target - value);
}

/// Moves a pose a share of the way to `target`: straight line, and slerp the short way.
inline void approach(Pose& pose, const Pose& target, double share) noexcept {
  approach(pose.position, target.position, share);
  const Vector3 turn = share * rotation_between(pose.orientation, target.orientation);
  pose.orientation = (quaternion_from_rotation_vector(turn) * pose.orientation).normalized();
}

}  // namespace serl_controllers
