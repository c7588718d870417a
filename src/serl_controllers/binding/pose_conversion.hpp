// Poses as Python gives and takes them: position, and quaternion xyzw.
#pragma once

#include <array>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

using Array3 = std::array<double, 3>;
using Array4 = std::array<double, 4>;

inline Pose pose_from(const Array3& position, const Array4& xyzw) {
  return {
    Vector3(position[0], position[1], position[2]), Quaternion(xyzw[3], xyzw[0], xyzw[1], xyzw[2])};
}

inline Eigen::Vector4d xyzw_from(const Pose& pose) { return pose.orientation.coeffs(); }

}  // namespace serl_controllers
