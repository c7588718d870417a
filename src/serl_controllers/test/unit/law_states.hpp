// States and parameters with which the law's torque can be worked out by hand.
#pragma once

#include "serl_controllers/impedance_law.hpp"
#include "serl_controllers/rotation.hpp"

namespace serl_controllers {

constexpr double DT = 1e-3;  // [s]

/// An arm whose joints 1-6 are the axes of the base frame: torque 1-6 is the wrench.
inline ArmState cartesian_state(const Pose& pose = {}) {
  ArmState state;
  state.T_base_ee = pose;
  state.jacobian.leftCols<6>() = Matrix6::Identity();
  return state;
}

/// No filters, no nullspace torque, and limits too wide to matter.
inline LawParameters plain_parameters() {
  LawParameters parameters;
  parameters.nullspace_stiffness = 0.0;
  parameters.target_time_constant = 0.0;
  parameters.gain_time_constant = 0.0;
  parameters.torque_rate_limit = 1e6;
  parameters.torque_limit.setConstant(1e6);
  return parameters;
}

inline Pose pose_at(double x, double y, double z, const Vector3& rotation = Vector3::Zero()) {
  return {Vector3(x, y, z), quaternion_from_rotation_vector(rotation)};
}

inline ImpedanceLaw started(const LawParameters& parameters, const ArmState& state) {
  ImpedanceLaw law(parameters);
  law.reset(state);
  return law;
}

}  // namespace serl_controllers
