// Cartesian impedance control of a 7-joint arm: target pose to joint torque, once per tick.
#pragma once

#include <optional>

#include "serl_controllers/joint_move.hpp"
#include "serl_controllers/joint_range.hpp"
#include "serl_controllers/law_parameters.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// How far the norm of a commanded quaternion may be from 1.
constexpr double NORM_TOLERANCE = 1e-3;

/// Pulls the end effector to a target like a spring and damper whose force is bounded.
///
/// Every method is real-time safe: no allocation, lock, log or throw. One thread at a time.
/// Time is counted in the `dt` of the ticks, so a paused loop does not age commands.
class ImpedanceLaw {
public:
  /// \param parameters   validated, see `validate`
  /// \param joint_range  ends of the joints' travel; without, nothing keeps joints from them
  explicit ImpedanceLaw(
    const LawParameters& parameters, const std::optional<JointRange>& joint_range = {}) noexcept;

  /// Starts at `state`: target := measured pose, all filters, the integral and the last torque
  /// cleared, mode IMPEDANCE (FAULT if the state is not finite).
  void reset(const ArmState& state) noexcept;

  /// Clips, limits, time constants and box apply at once, gains through their filter.
  /// \param parameters  validated, see `validate`
  void set_parameters(const LawParameters& parameters) noexcept;

  /// A new target, in the base frame; clipped to the box. Ends a HOLD.
  /// \return false when refused: not finite, quaternion norm off 1 by more than NORM_TOLERANCE,
  ///         or nothing active to follow it (IDLE, FAULT). It is counted, and the arm holds.
  bool set_target(const Pose& target) noexcept;

  /// Moves the joints from where they are at the next tick to `q`, then holds there. Commands are
  /// refused meanwhile.
  /// \param q             [rad]
  /// \param max_velocity  of the fastest joint [rad/s]
  /// \return false when refused: not finite, out of the joints' range, no velocity, a move under
  ///         way, or nothing active to follow it (IDLE, FAULT). The arm goes on as before.
  bool start_joint_move(const Vector7& q, double max_velocity) noexcept;

  /// Brakes a joint move, and holds.
  void cancel_joint_move() noexcept;

  /// Enters FAULT for a reason that the state does not show (hardware, a diverged simulation).
  void fault() noexcept;

  /// Leaves FAULT at the next tick with a finite state: to HOLD, at the pose measured then.
  void recover() noexcept;

  /// One tick.
  /// \param state  as a model gives it
  /// \param dt     since the last tick [s]
  /// \return [N m], without gravity: the arm adds it; always finite
  const Vector7& update(const ArmState& state, double dt) noexcept;

  const LawStatus& status() const noexcept { return status_; }

private:
  /// The gains in force: they follow the parameters through a filter.
  struct Gains {
    Vector6 stiffness, damping, integral;
    double nullspace, joint1_nullspace;

    explicit Gains(const LawParameters& parameters) noexcept;
  };

  void start(const ArmState& state, Mode mode) noexcept;
  void hold(const ArmState& state) noexcept;
  void watch_commands(const ArmState& state, double dt) noexcept;
  void filter(double dt) noexcept;
  Vector6 clipped_error(const Pose& measured) noexcept;
  Vector6 integral_wrench(const Vector6& error, double dt) noexcept;
  Vector7 nullspace_torque(const ArmState& state) const noexcept;
  Vector7 limit_torque(const Vector7& q) const noexcept;
  const Vector7& move_joints(const ArmState& state, double dt) noexcept;
  const Vector7& fault_torque(const ArmState& state) noexcept;
  const Vector7& limit(const Vector7& torque) noexcept;

  LawParameters parameters_;
  std::optional<JointRange> joint_range_;
  Gains gains_;
  LawStatus status_;
  Pose request_;            // the last accepted command, before the box
  Pose target_;             // where the filtered target goes
  bool commanded_ = false;  // target_ is a command: the box applies to it
  bool hold_wanted_ = false;
  bool recover_wanted_ = false;
  bool move_wanted_ = false;
  JointMove move_;
  Vector7 q_wanted_ = Vector7::Zero();     // target of the joint move [rad]
  double move_velocity_ = 0.0;             // of its fastest joint [rad/s]
  double settled_ = 0.0;                   // since its setpoint arrived [s]
  Vector7 q_nullspace_ = Vector7::Zero();  // [rad]
  Vector6 integral_ = Vector6::Zero();     // [N, N m]
  Vector7 torque_ = Vector7::Zero();       // the last one commanded [N m]
};

}  // namespace serl_controllers
