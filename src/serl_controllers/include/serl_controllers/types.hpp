// What the impedance law reads, and what it says: plain fixed-size values.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstdint>

namespace serl_controllers {

using Vector3 = Eigen::Vector3d;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Vector7 = Eigen::Matrix<double, 7, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Matrix67 = Eigen::Matrix<double, 6, 7>;
using Quaternion = Eigen::Quaterniond;

/// A frame seen from another: where its origin is and how it is turned.
struct Pose {
  Vector3 position = Vector3::Zero();               // [m]
  Quaternion orientation = Quaternion::Identity();  // unit; q and -q are the same
};

/// What drives the arm; the values of RobotState.mode.
enum class Mode : std::uint8_t { IDLE = 0, IMPEDANCE = 1, HOLD = 2, JOINT_MOVE = 3, FAULT = 5 };

/// The arm at one instant. A model (MuJoCo, Pinocchio) fills it in; the law knows no model.
struct ArmState {
  Vector7 q = Vector7::Zero();           // [rad]
  Vector7 dq = Vector7::Zero();          // [rad/s]
  Pose T_base_ee;                        // end effector in the base frame
  Matrix67 jacobian = Matrix67::Zero();  // base frame, linear first
  Vector7 coriolis = Vector7::Zero();    // velocity-dependent torque, without gravity [N m]

  bool all_finite() const noexcept {
    return q.allFinite() && dq.allFinite() && T_base_ee.position.allFinite() &&
           T_base_ee.orientation.coeffs().allFinite() && jacobian.allFinite() &&
           coriolis.allFinite();
  }
};

/// What the law did in its last tick.
struct LawStatus {
  Mode mode = Mode::IDLE;
  Pose commanded;                       // the filtered target it pulls towards, base frame
  std::array<bool, 6> error_clipped{};  // per axis, translation first
  bool target_clipped = false;          // the workspace box moved the target
  bool torque_saturated = false;        // a torque or torque-rate limit was active
  std::uint64_t rejected_commands = 0;  // refused since construction
  double command_age = 0.0;             // since the last accepted command or reset [s]
};

}  // namespace serl_controllers
