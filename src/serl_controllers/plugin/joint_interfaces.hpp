// The hardware interfaces of the arm's joints, in the order in which the controller claims them.
#pragma once

#include <hardware_interface/loaned_command_interface.hpp>
#include <hardware_interface/loaned_state_interface.hpp>
#include <string>
#include <vector>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// What the arm itself says of the external wrench.
enum class WrenchSource { EFFORT, SENSOR, NONE };

/// Names and access. `read` and `write` are real-time safe; a value whose lock is taken for an
/// instant stays as it was.
class JointInterfaces {
public:
  using StateInterfaces = std::vector<hardware_interface::LoanedStateInterface>;
  using CommandInterfaces = std::vector<hardware_interface::LoanedCommandInterface>;

  JointInterfaces(
    const std::vector<std::string>& joints, WrenchSource source, const std::string& sensor);

  const std::vector<std::string>& command_names() const noexcept { return command_names_; }
  const std::vector<std::string>& state_names() const noexcept { return state_names_; }
  WrenchSource source() const noexcept { return source_; }

  /// \return the name of the first interface that is not where it should be; empty: all are
  std::string misplaced(const CommandInterfaces& commands, const StateInterfaces& states) const;

  void read(const StateInterfaces& interfaces) noexcept;
  void write(CommandInterfaces& interfaces, const Vector7& torque) const noexcept;

  const Vector7& q() const noexcept { return q_; }            // [rad]
  const Vector7& dq() const noexcept { return dq_; }          // [rad/s]
  const Vector7& effort() const noexcept { return effort_; }  // [N m]
  const Vector6& wrench() const noexcept { return wrench_; }  // of the sensor [N, N m]

private:
  std::vector<std::string> command_names_, state_names_;
  WrenchSource source_;
  Vector7 q_ = Vector7::Zero();
  Vector7 dq_ = Vector7::Zero();
  Vector7 effort_ = Vector7::Zero();
  Vector6 wrench_ = Vector6::Zero();
};

}  // namespace serl_controllers
