// What the controller has to know of an arm, behind an interface: kinematics and dynamics.
#pragma once

#include <optional>
#include <string>

#include "serl_controllers/external_torque.hpp"
#include "serl_controllers/joint_range.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// A torque-controlled arm of seven revolute joints on a fixed base.
/// `update` and `momentum` are real-time safe: no allocation, lock, log or throw.
class ArmModel {
public:
  virtual ~ArmModel() = default;

  /// Fills in what follows from `state.q` and `state.dq`: pose, Jacobian and Coriolis torque.
  virtual void update(ArmState& state) noexcept = 0;

  /// Of the state of the last `update`.
  virtual Momentum momentum(const ArmState& state) noexcept = 0;

  /// \return [rad]
  virtual JointRange joint_range() const = 0;

  /// Where a frame lies that does not move against the base, as T_base_frame.
  /// \return nothing when there is no such frame, or it moves with the arm. Allocates.
  virtual std::optional<Pose> fixed_frame(const std::string& name) const = 0;
};

}  // namespace serl_controllers
