#include "joint_input.hpp"

namespace serl_controllers {

JointInput::JointInput(rclcpp_lifecycle::LifecycleNode& node) {
  subscription_ = node.create_subscription<Message>(
    "arm/joint_command", rclcpp::QoS(5).reliable(), [this](const Message& message) {
      JointOrder order;
      order.q = Eigen::Map<const Vector7>(message.q.data());
      order.max_velocity = message.max_velocity;
      order.cancel = message.cancel;
      orders_.put(order);
    });
}

}  // namespace serl_controllers
