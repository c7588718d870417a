// The box that targets are kept in: about a reference pose, in R^3 and SO(3).
#pragma once

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Limits of a target about `reference`, along and about the axes of the base frame.
/// Rows 0-2 bound the offset of the position [m], rows 3-5 the rotation vector [rad] that turns
/// the reference into the target: no Euler angles, so nothing happens at roll = pi.
struct WorkspaceBox {
  Pose reference;
  Vector6 lower = Vector6::Zero();
  Vector6 upper = Vector6::Zero();

  /// Moves `pose` to the nearest one inside, per axis. Real-time safe.
  /// \return whether it was moved
  bool clip(Pose& pose) const noexcept;
};

}  // namespace serl_controllers
