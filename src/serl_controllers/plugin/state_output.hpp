// The arm's state from the control loop to arm/state.
#pragma once

#include <cstdint>
#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>
#include <serl_interfaces/msg/robot_state.hpp>
#include <string>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// What the loop knows after a tick.
struct Report {
  const ArmState& state;
  const LawStatus& status;
  const Vector7& external_torque;  // [N m]
  const Vector6& external_wrench;  // at the end effector, base frame [N, N m]
  std::uint64_t command_seq = 0;   // the last command carried out
  std::uint64_t refused = 0;       // outside the law
  float gripper = 0.0F;            // 0 closed .. 1 open
};

/// Publishes from a thread of its own, at a fixed rate of ticks' time.
class StateOutput {
public:
  /// \param rate  [Hz]
  StateOutput(rclcpp_lifecycle::LifecycleNode& node, const std::string& base_frame, double rate);

  /// Publishes when it is time to. Real-time safe.
  /// \param dt  since the last call [s]
  void write(const rclcpp::Time& time, double dt, const Report& report) noexcept;

private:
  using Message = serl_interfaces::msg::RobotState;

  std::unique_ptr<realtime_tools::RealtimePublisher<Message>> publisher_;
  Message message_;
  double period_;                        // [s]
  double elapsed_ = 0.0;                 // since the last message [s]
  std::array<bool, 6> error_clipped_{};  // in a tick since the last message
  bool torque_saturated_ = false;
};

}  // namespace serl_controllers
