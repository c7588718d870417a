// A MuJoCo arm under the impedance law, one physics step per tick.
#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

#include "mujoco_arm.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace serl_controllers {

/// Time constant of the filter of the external wrench [s].
constexpr double WRENCH_TIME_CONSTANT = 0.05;

/// Steps a model that somebody else owns. After every call, positions and velocities in mjData
/// are those of one instant, the last one.
class SimulatedArm {
public:
  /// Turns MuJoCo's automatic reset off in the model: a diverged simulation shall be seen.
  /// \param parameters  validated
  /// \throws std::invalid_argument naming what the model lacks
  SimulatedArm(
    mjModel* model, mjData* data, const std::string& site, const std::vector<std::string>& joints,
    const std::vector<std::string>& actuators, const LawParameters& parameters);

  /// Takes over what was set in mjData; setpoint := measured pose.
  /// \throws std::runtime_error if that is not finite
  void reset();

  /// `ticks` times: read, law, write, mj_step. Stops at once when the physics diverge.
  void step(int ticks) noexcept;

  void set_parameters(const LawParameters& parameters) noexcept { law_.set_parameters(parameters); }
  bool set_target(const Pose& target) noexcept { return law_.set_target(target); }
  bool start_joint_move(const Vector7& q, double max_velocity) noexcept {
    return law_.start_joint_move(q, max_velocity);
  }
  void cancel_joint_move() noexcept { law_.cancel_joint_move(); }
  void recover() noexcept { law_.recover(); }

  const LawStatus& status() const noexcept { return law_.status(); }
  const ArmState& state() const noexcept { return state_; }
  /// A torque or torque-rate limit was active in a tick of the last step().
  bool torque_saturated() const noexcept { return saturated_; }
  /// External, on the tool at the end effector, base frame, filtered [N, N m].
  const Vector6& wrench() const noexcept { return wrench_; }
  /// Largest filtered force since reset [N].
  double peak_force() const noexcept { return peak_force_; }
  /// The law's torque of the last tick, without gravity and Coriolis torque [N m].
  const Vector7& torque() const noexcept { return torque_; }

private:
  void tick(double dt, double wrench_share) noexcept;
  bool diverged() const noexcept;

  mjModel* model_;
  mjData* data_;
  MujocoArm arm_;
  ImpedanceLaw law_;
  ArmState state_;
  Vector7 torque_ = Vector7::Zero();
  Vector6 wrench_ = Vector6::Zero();
  double peak_force_ = 0.0;
  bool saturated_ = false;
  bool diverged_ = false;
};

}  // namespace serl_controllers
