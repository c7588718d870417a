// Where joints may go, and the spring that keeps them from their ends.
#pragma once

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Ends of the joints' travel [rad]; infinite where a joint has none.
struct JointRange {
  Vector7 lower, upper;
};

/// Torque of a spring that begins `margin` before each end, so it is zero in between.
/// A spring of the joint alone: it stores what it takes and adds no energy. Real-time safe.
/// \param margin     [rad]
/// \param stiffness  [N m/rad]
/// \return [N m]
inline Vector7 joint_limit_torque(
  const Vector7& q, const JointRange& range, double margin, double stiffness) noexcept {
  const Vector7 below = (range.lower.array() + margin - q.array()).max(0.0);
  const Vector7 above = (q.array() - range.upper.array() + margin).max(0.0);
  return stiffness * (below - above);
}

}  // namespace serl_controllers
