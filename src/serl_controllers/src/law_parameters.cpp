#include "serl_controllers/law_parameters.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "serl_controllers/impedance_law.hpp"

namespace serl_controllers {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double PI = 3.14159265358979323846;

void require(const std::string& name, double value, double lowest, double highest) {
  if (std::isfinite(value) && value >= lowest && value <= highest) return;
  std::ostringstream text;
  text << name << " is " << value << ", expected " << lowest << " to " << highest;
  throw std::invalid_argument(text.str());
}

template <typename Vector>
void require_each(const char* name, const Vector& values, double lowest, double highest) {
  for (int i = 0; i < values.size(); ++i) {
    require(name + ("[" + std::to_string(i) + "]"), values[i], lowest, highest);
  }
}

/// Other bounds for translation than for rotation.
void require_axes(const char* name, const Vector6& values, double translation, double rotation) {
  for (int i = 0; i < 6; ++i) {
    const double highest = i < 3 ? translation : rotation;
    require(name + ("[" + std::to_string(i) + "]"), values[i], 0.0, highest);
  }
}

}  // namespace

void validate(const WorkspaceBox& box) {
  require_each("box.position", box.reference.position, -INFINITE, INFINITE);
  require(
    "norm of box.quaternion", box.reference.orientation.norm(), 1.0 - NORM_TOLERANCE,
    1.0 + NORM_TOLERANCE);
  for (int i = 0; i < 6; ++i) {
    const std::string axis = "[" + std::to_string(i) + "]";
    const double extent = i < 3 ? INFINITE : PI;
    require("box.lower" + axis, box.lower[i], -extent, extent);
    require("box.upper" + axis, box.upper[i], box.lower[i], extent);
  }
}

void validate(const LawParameters& p) {
  require_axes("stiffness", p.stiffness, 6000.0, 300.0);
  require_axes("damping", p.damping, 400.0, 30.0);
  require_axes("integral_gain", p.integral_gain, 6000.0, 300.0);
  require_axes("integral_limit", p.integral_limit, 50.0, 10.0);
  require_axes("clip_positive", p.clip_positive, 0.1, PI);
  require_axes("clip_negative", p.clip_negative, 0.1, PI);
  require("nullspace_stiffness", p.nullspace_stiffness, 0.0, 100.0);
  require("joint1_nullspace_stiffness", p.joint1_nullspace_stiffness, 0.0, 100.0);
  require("joint_limit_margin", p.joint_limit_margin, 0.0, 0.5);
  require("joint_limit_stiffness", p.joint_limit_stiffness, 0.0, 500.0);
  require("target_time_constant", p.target_time_constant, 0.0, 10.0);
  require("gain_time_constant", p.gain_time_constant, 0.0, 10.0);
  require("torque_rate_limit", p.torque_rate_limit, 1e-3, 100.0);
  require_each("torque_limit", p.torque_limit, 0.0, 87.0);
  require("fault_damping", p.fault_damping, 0.0, 20.0);
  require("command_timeout", p.command_timeout, 1e-3, 1e6);
  if (p.box) validate(*p.box);
}

}  // namespace serl_controllers
