#include "serl_controllers/impedance_law.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "serl_controllers/first_order.hpp"
#include "serl_controllers/rotation.hpp"

namespace serl_controllers {
namespace {

/// Damping of the pseudo-inverse in the nullspace projector.
constexpr double PSEUDO_INVERSE_DAMPING = 0.2;

/// After a joint move, before its end is what the arm holds [s].
constexpr double SETTLE_TIME = 0.3;

bool usable(const Pose& pose) noexcept {
  // A norm that is not finite fails the comparison.
  return pose.position.allFinite() && std::abs(pose.orientation.norm() - 1.0) <= NORM_TOLERANCE;
}

}  // namespace

ImpedanceLaw::Gains::Gains(const LawParameters& parameters) noexcept
  : stiffness(parameters.stiffness),
    damping(parameters.damping),
    integral(parameters.integral_gain),
    nullspace(parameters.nullspace_stiffness),
    joint1_nullspace(parameters.joint1_nullspace_stiffness) {}

ImpedanceLaw::ImpedanceLaw(
  const LawParameters& parameters, const std::optional<JointRange>& joint_range) noexcept
  : parameters_(parameters), joint_range_(joint_range), gains_(parameters) {}

void ImpedanceLaw::reset(const ArmState& state) noexcept {
  torque_.setZero();
  if (state.all_finite()) {
    start(state, Mode::IMPEDANCE);
  } else {
    fault();
  }
}

void ImpedanceLaw::start(const ArmState& state, Mode mode) noexcept {
  gains_ = Gains(parameters_);
  integral_.setZero();
  q_nullspace_ = state.q;
  target_ = state.T_base_ee;
  commanded_ = false;
  hold_wanted_ = false;
  recover_wanted_ = false;
  move_wanted_ = false;
  move_.abandon();
  status_.mode = mode;
  status_.commanded = state.T_base_ee;
  status_.error_clipped.fill(false);
  status_.target_clipped = false;
  status_.torque_saturated = false;
  status_.command_age = 0.0;
}

void ImpedanceLaw::set_parameters(const LawParameters& parameters) noexcept {
  parameters_ = parameters;
  if (commanded_) {
    target_ = request_;
    status_.target_clipped = parameters_.box && parameters_.box->clip(target_);
  }
}

bool ImpedanceLaw::set_target(const Pose& target) noexcept {
  const bool active = status_.mode == Mode::IMPEDANCE || status_.mode == Mode::HOLD;
  if (!active || !usable(target)) {
    ++status_.rejected_commands;
    hold_wanted_ = active;
    return false;
  }
  request_.position = target.position;
  request_.orientation = target.orientation.normalized();
  target_ = request_;
  status_.target_clipped = parameters_.box && parameters_.box->clip(target_);
  commanded_ = true;
  hold_wanted_ = false;
  status_.command_age = 0.0;
  status_.mode = Mode::IMPEDANCE;
  return true;
}

bool ImpedanceLaw::start_joint_move(const Vector7& q, double max_velocity) noexcept {
  const bool active = status_.mode == Mode::IMPEDANCE || status_.mode == Mode::HOLD;
  const bool usable = q.allFinite() && std::isfinite(max_velocity) && max_velocity > 0.0;
  const bool inside = !joint_range_ || ((q.array() >= joint_range_->lower.array()).all() &&
                                        (q.array() <= joint_range_->upper.array()).all());
  if (!(active && usable && inside)) return false;
  q_wanted_ = q;
  move_velocity_ = max_velocity;
  move_wanted_ = true;
  return true;
}

void ImpedanceLaw::cancel_joint_move() noexcept {
  move_wanted_ = false;
  move_.cancel();
}

void ImpedanceLaw::fault() noexcept {
  status_.mode = Mode::FAULT;
  move_wanted_ = false;
  move_.abandon();
  recover_wanted_ = false;
}

void ImpedanceLaw::recover() noexcept { recover_wanted_ = status_.mode == Mode::FAULT; }

const Vector7& ImpedanceLaw::update(const ArmState& state, double dt) noexcept {
  if (!(std::isfinite(dt) && dt > 0.0)) dt = 0.0;
  if (!state.all_finite()) {
    fault();
  } else if (recover_wanted_) {
    start(state, Mode::HOLD);
  }
  if (status_.mode == Mode::FAULT) return fault_torque(state);
  if (status_.mode == Mode::IDLE) return limit(Vector7::Zero());
  if (move_wanted_ || status_.mode == Mode::JOINT_MOVE) return move_joints(state, dt);

  watch_commands(state, dt);
  filter(dt);
  const Vector6 error = clipped_error(state.T_base_ee);
  const Vector6 velocity = state.jacobian * state.dq;
  const Vector6 wrench = -gains_.stiffness.cwiseProduct(error) -
                         gains_.damping.cwiseProduct(velocity) - integral_wrench(error, dt);
  const Vector7 torque = state.jacobian.transpose() * wrench + nullspace_torque(state) +
                         limit_torque(state.q) + state.coriolis;
  if (!torque.allFinite()) {  // finite but absurd values can overflow
    fault();
    return fault_torque(state);
  }
  return limit(torque);
}

void ImpedanceLaw::watch_commands(const ArmState& state, double dt) noexcept {
  status_.command_age += dt;
  // Half a tick of grace: rounding must not decide when commands come once per timeout.
  const bool stale = status_.command_age > parameters_.command_timeout + 0.5 * dt;
  if (status_.mode == Mode::IMPEDANCE && (stale || hold_wanted_)) hold(state);
  hold_wanted_ = false;
}

/// The filtered target goes on from where it is, so the torque does not jump.
void ImpedanceLaw::hold(const ArmState& state) noexcept {
  target_ = state.T_base_ee;
  commanded_ = false;
  status_.target_clipped = false;
  status_.mode = Mode::HOLD;
}

void ImpedanceLaw::filter(double dt) noexcept {
  approach(status_.commanded, target_, filter_share(dt, parameters_.target_time_constant));
  const double share = filter_share(dt, parameters_.gain_time_constant);
  approach(gains_.stiffness, parameters_.stiffness, share);
  approach(gains_.damping, parameters_.damping, share);
  approach(gains_.integral, parameters_.integral_gain, share);
  approach(gains_.nullspace, parameters_.nullspace_stiffness, share);
  approach(gains_.joint1_nullspace, parameters_.joint1_nullspace_stiffness, share);
}

/// Measured minus target: position [m] and rotation vector [rad], base frame.
Vector6 ImpedanceLaw::clipped_error(const Pose& measured) noexcept {
  Vector6 error;
  error.head<3>() = measured.position - status_.commanded.position;
  error.tail<3>() = rotation_between(status_.commanded.orientation, measured.orientation);
  const Vector6 clipped =
    error.cwiseMax(-parameters_.clip_negative).cwiseMin(parameters_.clip_positive);
  for (int i = 0; i < 6; ++i) status_.error_clipped[i] = clipped[i] != error[i];
  return clipped;
}

/// Bounded, and not growing while a torque limit keeps it from acting. [N, N m]
Vector6 ImpedanceLaw::integral_wrench(const Vector6& error, double dt) noexcept {
  const Vector6 next = (integral_ + dt * gains_.integral.cwiseProduct(error))
                         .cwiseMax(-parameters_.integral_limit)
                         .cwiseMin(parameters_.integral_limit);
  for (int i = 0; i < 6; ++i) {
    const bool grows = std::abs(next[i]) > std::abs(integral_[i]);
    if (!(grows && status_.torque_saturated)) integral_[i] = next[i];
  }
  return integral_;
}

/// Pulls the joints to where they were at reset without moving the end effector: N spring -
/// N damper N dq, with N = I - J^T (J J^T + d^2 I)^-1 J from the damped pseudo-inverse of J^T.
/// Damping only the nullspace velocity keeps it passive although joint 1 is damped more.
Vector7 ImpedanceLaw::nullspace_torque(const ArmState& state) const noexcept {
  Matrix6 squared = state.jacobian * state.jacobian.transpose();
  squared.diagonal().array() += PSEUDO_INVERSE_DAMPING * PSEUDO_INVERSE_DAMPING;
  const Eigen::LLT<Matrix6> factor(squared);
  const auto project = [&](const Vector7& vector) -> Vector7 {
    const Vector6 solution = factor.solve(Vector6(state.jacobian * vector));
    return vector - state.jacobian.transpose() * solution;
  };
  Vector7 spring = gains_.nullspace * (q_nullspace_ - state.q);
  Vector7 damper = 2.0 * std::sqrt(gains_.nullspace) * project(state.dq);
  spring[0] *= gains_.joint1_nullspace;
  damper[0] *= 2.0 * std::sqrt(gains_.joint1_nullspace);
  return project(spring - damper);
}

Vector7 ImpedanceLaw::limit_torque(const Vector7& q) const noexcept {
  if (!joint_range_) return Vector7::Zero();
  return joint_limit_torque(
    q, *joint_range_, parameters_.joint_limit_margin, parameters_.joint_limit_stiffness);
}

/// Follows the move, lets the arm settle, and holds; the torque goes on from what it was.
const Vector7& ImpedanceLaw::move_joints(const ArmState& state, double dt) noexcept {
  if (move_wanted_) {
    move_.start(state.q, q_wanted_, move_velocity_);
    settled_ = 0.0;
    status_.error_clipped.fill(false);
    status_.target_clipped = false;
    status_.mode = Mode::JOINT_MOVE;
    move_wanted_ = false;
  }
  status_.command_age += dt;
  status_.commanded = state.T_base_ee;
  const JointSetpoint& setpoint = move_.update(dt);
  const Vector7 torque = joint_torque(state, setpoint, JointGains()) + limit_torque(state.q);
  if (!move_.moving()) settled_ += dt;
  if (settled_ > SETTLE_TIME) start(state, Mode::HOLD);
  if (!torque.allFinite()) {
    fault();
    return fault_torque(state);
  }
  return limit(torque);
}

/// Only damps, as far as the velocity is known.
const Vector7& ImpedanceLaw::fault_torque(const ArmState& state) noexcept {
  status_.error_clipped.fill(false);
  if (!state.dq.allFinite()) return limit(Vector7::Zero());
  return limit(-parameters_.fault_damping * state.dq);
}

const Vector7& ImpedanceLaw::limit(const Vector7& torque) noexcept {
  const Vector7 bounded =
    torque.cwiseMax(-parameters_.torque_limit).cwiseMin(parameters_.torque_limit);
  const double rate = parameters_.torque_rate_limit;
  const Vector7 change = (bounded - torque_).cwiseMax(-rate).cwiseMin(rate);
  torque_ += change;
  status_.torque_saturated =
    (bounded.array() != torque.array()).any() || ((bounded - torque_).array().abs() > 1e-9).any();
  return torque_;
}

}  // namespace serl_controllers
