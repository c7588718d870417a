// Joint moves from arm/joint_command to the control loop.
#pragma once

#include <optional>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <serl_interfaces/msg/joint_command.hpp>

#include "mailbox.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// A move to begin, or the end of one.
struct JointOrder {
  Vector7 q = Vector7::Zero();  // [rad]
  double max_velocity = 0.0;    // of the fastest joint [rad/s]
  bool cancel = false;
};

/// Subscribes to arm/joint_command. Whether an order can be carried out, the law decides; its
/// sender sees by the state's mode whether it is.
class JointInput {
public:
  explicit JointInput(rclcpp_lifecycle::LifecycleNode& node);

  /// The newest order, if it has not been taken yet. Real-time safe.
  std::optional<JointOrder> take() noexcept { return orders_.take(); }

  /// Forgets what has not been taken. Real-time safe.
  void discard() noexcept { orders_.discard(); }

private:
  using Message = serl_interfaces::msg::JointCommand;

  Mailbox<JointOrder> orders_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;
};

}  // namespace serl_controllers
