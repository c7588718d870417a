// Parameters of the impedance law: the one place of their defaults.
#pragma once

#include <optional>

#include "serl_controllers/types.hpp"
#include "serl_controllers/workspace_box.hpp"

namespace serl_controllers {

/// Vectors of 6 are per axis of the base frame, translation first.
///
/// The error is measured minus target, so `clip_positive` z bounds the push along -z.
/// Rotation errors are rotation vectors. A controller whose error is the vector part of a
/// quaternion, sin(angle / 2), behaves the same with half its rotational stiffness and twice its
/// rotational clips here; its damping acts on the velocity and stays as it is.
struct LawParameters {
  Vector6 stiffness{2000.0, 2000.0, 2000.0, 75.0, 75.0, 75.0};  // [N/m, N m/rad]
  Vector6 damping{89.0, 89.0, 89.0, 7.0, 7.0, 7.0};             // [N s/m, N m s/rad]
  Vector6 integral_gain = Vector6::Zero();                      // [N/(m s), N m/(rad s)]
  Vector6 integral_limit{5.0, 5.0, 5.0, 1.0, 1.0, 1.0};         // largest integral wrench [N, N m]
  Vector6 clip_positive{0.01, 0.01, 0.01, 0.1, 0.1, 0.1};       // largest error [m, rad]
  Vector6 clip_negative{0.01, 0.01, 0.01, 0.1, 0.1, 0.1};  // largest error the other way [m, rad]
  double nullspace_stiffness = 0.2;                        // towards the joints at reset [N m/rad]
  double joint1_nullspace_stiffness = 100.0;               // its factor for joint 1
  double joint_limit_margin = 0.1;                         // of the spring before an end [rad]
  double joint_limit_stiffness = 100.0;                    // of that spring [N m/rad]
  double target_time_constant = 0.2;                       // of the target filter [s]; 0: none
  double gain_time_constant = 0.2;                         // of the gain filter [s]; 0: none
  double torque_rate_limit = 1.0;                          // [N m per tick]
  Vector7 torque_limit{87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0};  // without gravity [N m]
  double fault_damping = 5.0;    // of every joint while in FAULT [N m s/rad]
  double command_timeout = 0.5;  // a command older than this holds the arm [s]
  std::optional<WorkspaceBox> box;
};

/// Refuses parameters that are not finite or out of bounds. Not for the control loop.
/// \throws std::invalid_argument naming the parameter, its value and the bounds
void validate(const LawParameters& parameters);

/// The same for a box alone.
void validate(const WorkspaceBox& box);

}  // namespace serl_controllers
