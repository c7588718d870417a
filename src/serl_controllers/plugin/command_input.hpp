// Commands from arm/command to the control loop: checked outside it, handed over by a box.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <serl_interfaces/msg/arm_command.hpp>
#include <string>

#include "mailbox.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// A target in the base frame.
struct TargetCommand {
  std::uint64_t sequence = 0;  // command_seq of its publisher
  Pose target;
};

/// Subscribes to arm/command. Refused are commands in a frame that does not stand still against
/// the base, and all of them while nodes of more than one name publish; a node's number sent
/// again is not a new command. Whether the pose itself is sound, the law decides.
class CommandInput {
public:
  /// \param T_base_frame  where a frame lies that does not move, if there is such a one
  using FixedFrame = std::function<std::optional<Pose>(const std::string&)>;

  CommandInput(rclcpp_lifecycle::LifecycleNode& node, std::string base_frame, FixedFrame frame);

  /// The newest command, if it has not been taken yet. Real-time safe.
  std::optional<TargetCommand> take() noexcept { return commands_.take(); }

  /// Forgets commands that have not been taken, and the last number. Real-time safe.
  void discard() noexcept;

  /// Since construction.
  std::uint64_t refused() const noexcept { return refused_; }

private:
  using Message = serl_interfaces::msg::ArmCommand;

  void on_command(const Message& message);
  void watch_publishers();
  void refuse(const std::string& reason);
  std::optional<Pose> to_base(const Message& message) const;

  rclcpp_lifecycle::LifecycleNode& node_;
  std::string base_frame_;
  FixedFrame frame_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
  Mailbox<TargetCommand> commands_;
  std::optional<std::uint64_t> last_sequence_;
  std::string rivals_;     // more than one publish: their names
  std::string complaint_;  // the last reason for a refusal that was logged
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> forget_{false};
};

}  // namespace serl_controllers
