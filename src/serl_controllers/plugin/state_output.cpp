#include "state_output.hpp"

#include <algorithm>

namespace serl_controllers {
namespace {

/// As for sensor data: an old state is worth nothing.
rclcpp::QoS state_qos() { return rclcpp::QoS(5).best_effort(); }

void assign(geometry_msgs::msg::Vector3& message, const Vector3& value) noexcept {
  message.x = value.x();
  message.y = value.y();
  message.z = value.z();
}

void assign(geometry_msgs::msg::Pose& message, const Pose& pose) noexcept {
  message.position.x = pose.position.x();
  message.position.y = pose.position.y();
  message.position.z = pose.position.z();
  message.orientation.x = pose.orientation.x();
  message.orientation.y = pose.orientation.y();
  message.orientation.z = pose.orientation.z();
  message.orientation.w = pose.orientation.w();
}

void assign(std::array<double, 7>& message, const Vector7& value) noexcept {
  std::copy_n(value.data(), 7, message.begin());
}

}  // namespace

StateOutput::StateOutput(
  rclcpp_lifecycle::LifecycleNode& node, const std::string& base_frame, double rate)
  : period_(1.0 / rate) {
  publisher_ = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
    node.create_publisher<Message>("arm/state", state_qos()));
  message_.header.frame_id = base_frame;
}

void StateOutput::write(const rclcpp::Time& time, double dt, const Report& report) noexcept {
  const LawStatus& status = report.status;
  for (std::size_t i = 0; i < 6; ++i) error_clipped_[i] |= status.error_clipped[i];
  torque_saturated_ |= status.torque_saturated;
  elapsed_ += dt;
  if (elapsed_ < period_ - 0.5 * dt) return;

  const Vector6 twist = report.state.jacobian * report.state.dq;
  message_.header.stamp = time;
  message_.command_seq = report.command_seq;
  assign(message_.tcp_pose, report.state.T_base_ee);
  assign(message_.tcp_twist.linear, twist.head<3>());
  assign(message_.tcp_twist.angular, twist.tail<3>());
  assign(message_.external_wrench.force, report.external_wrench.head<3>());
  assign(message_.external_wrench.torque, report.external_wrench.tail<3>());
  assign(message_.q, report.state.q);
  assign(message_.dq, report.state.dq);
  assign(message_.tau_ext, report.external_torque);
  message_.gripper = report.gripper;
  message_.mode = static_cast<std::uint8_t>(status.mode);
  assign(message_.commanded_pose, status.commanded);
  std::copy(error_clipped_.begin(), error_clipped_.end(), message_.error_clipped.begin());
  message_.target_clipped = status.target_clipped;
  message_.torque_saturated = torque_saturated_;
  message_.rejected_commands = status.rejected_commands + report.refused;
  if (!publisher_->try_publish(message_)) return;    // its thread is busy: at the next tick
  elapsed_ = std::min(elapsed_ - period_, period_);  // the rate holds although ticks are uneven
  error_clipped_.fill(false);
  torque_saturated_ = false;
}

}  // namespace serl_controllers
