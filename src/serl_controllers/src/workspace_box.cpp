#include "serl_controllers/workspace_box.hpp"

#include "serl_controllers/rotation.hpp"

namespace serl_controllers {

bool WorkspaceBox::clip(Pose& pose) const noexcept {
  Vector6 offset;
  offset.head<3>() = pose.position - reference.position;
  offset.tail<3>() = rotation_between(reference.orientation, pose.orientation);
  const Vector6 clipped = offset.cwiseMax(lower).cwiseMin(upper);
  const bool moved = (clipped.array() != offset.array()).any();
  if (moved) {  // an untouched pose keeps its last bit
    pose.position = reference.position + clipped.head<3>();
    pose.orientation =
      (quaternion_from_rotation_vector(clipped.tail<3>()) * reference.orientation).normalized();
  }
  return moved;
}

}  // namespace serl_controllers
