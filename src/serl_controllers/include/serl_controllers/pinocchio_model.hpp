// The arm's model from a robot description (URDF), by Pinocchio.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serl_controllers/arm_model.hpp"

namespace serl_controllers {

/// Names of an arm's parts in its robot description.
struct ArmNames {
  std::vector<std::string> joints;  // 7, from the base to the flange
  std::string base_frame;           // link of the poses; does not move
  std::string end_effector_frame;   // link that the targets are for
};

/// Other moving joints of the description, such as fingers, are locked at zero; their links
/// count as what the arm carries.
/// \throws std::invalid_argument naming what the description lacks or has otherwise
std::unique_ptr<ArmModel> make_pinocchio_model(const std::string& urdf, const ArmNames& names);

}  // namespace serl_controllers
