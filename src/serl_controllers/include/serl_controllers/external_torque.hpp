// External torque of an arm that measures only its joints' torque: a momentum observer.
#pragma once

#include <Eigen/Cholesky>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// What the observer integrates: d(momentum)/dt = drift + joint torque + external torque.
struct Momentum {
  Vector7 momentum = Vector7::Zero();  // M(q) dq [N m s]
  Vector7 drift = Vector7::Zero();     // C(q, dq)^T dq - g(q) [N m]
  Vector7 gravity = Vector7::Zero();   // g(q) [N m]
};

/// Low-pass filtered external torque, without differentiating the velocity
/// (De Luca et al., "Collision Detection and Safe Reaction", IROS 2006). Real-time safe.
class ExternalTorque {
public:
  /// \param time_constant  of the filter [s], > 0
  explicit ExternalTorque(double time_constant) noexcept : time_constant_(time_constant) {}

  /// Starts without external torque.
  void reset(const Momentum& momentum) noexcept {
    integral_ = momentum.momentum;
    torque_.setZero();
  }

  /// \param torque  the joints' during the last `dt` [s], with gravity [N m]
  /// \return on the arm [N m]
  const Vector7& update(const Momentum& momentum, const Vector7& torque, double dt) noexcept {
    integral_ += dt * (torque + momentum.drift);
    // Implicit in the estimate, so that it is stable for any time step.
    torque_ = (momentum.momentum - integral_) / (time_constant_ + dt);
    integral_ += dt * torque_;
    return torque_;
  }

  const Vector7& torque() const noexcept { return torque_; }

private:
  double time_constant_;
  Vector7 integral_ = Vector7::Zero();  // what the momentum would be without the unobserved [N m s]
  Vector7 torque_ = Vector7::Zero();
};

/// The wrench at the end effector that gives this joint torque, as nearly as there is one: the
/// damped pseudo-inverse of J^T, so that it stays bounded at singularities. Real-time safe.
/// \return base frame [N, N m]
inline Vector6 wrench_of_torque(const Matrix67& jacobian, const Vector7& torque) noexcept {
  constexpr double DAMPING = 0.01;
  Matrix6 squared = jacobian * jacobian.transpose();
  squared.diagonal().array() += DAMPING * DAMPING;
  const Eigen::LLT<Matrix6> factor(squared);
  return factor.solve(Vector6(jacobian * torque));
}

}  // namespace serl_controllers
