// The fields of LawParameters by name, for whoever fills them in from elsewhere.
#pragma once

#include "serl_controllers/law_parameters.hpp"

namespace serl_controllers {

/// Calls `visit(name, member)` for the fields that a compliance set chooses.
template <typename Parameters, typename Visitor>
void for_each_compliance_field(Parameters& p, Visitor&& visit) {
  visit("stiffness", p.stiffness);
  visit("damping", p.damping);
  visit("integral_gain", p.integral_gain);
  visit("integral_limit", p.integral_limit);
  visit("clip_positive", p.clip_positive);
  visit("clip_negative", p.clip_negative);
  visit("nullspace_stiffness", p.nullspace_stiffness);
  visit("joint1_nullspace_stiffness", p.joint1_nullspace_stiffness);
  visit("target_time_constant", p.target_time_constant);
}

/// Calls `visit(name, member)` for the fields that hold whatever the compliance.
template <typename Parameters, typename Visitor>
void for_each_safety_field(Parameters& p, Visitor&& visit) {
  visit("joint_limit_margin", p.joint_limit_margin);
  visit("joint_limit_stiffness", p.joint_limit_stiffness);
  visit("gain_time_constant", p.gain_time_constant);
  visit("torque_rate_limit", p.torque_rate_limit);
  visit("torque_limit", p.torque_limit);
  visit("fault_damping", p.fault_damping);
  visit("command_timeout", p.command_timeout);
}

/// Both; every field but the box.
template <typename Parameters, typename Visitor>
void for_each_field(Parameters& p, Visitor&& visit) {
  for_each_compliance_field(p, visit);
  for_each_safety_field(p, visit);
}

}  // namespace serl_controllers
