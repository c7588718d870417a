#include "command_input.hpp"

#include <chrono>
#include <set>
#include <utility>

namespace serl_controllers {
namespace {

using std::chrono_literals::operator""ms;

/// What the middleware says before it has heard an endpoint's node by name.
constexpr char UNKNOWN_NODE[] = "_NODE_NAME_UNKNOWN_";

rclcpp::QoS command_qos() { return rclcpp::QoS(5).reliable(); }

Pose pose_from(const geometry_msgs::msg::Pose& message) {
  const auto& p = message.position;
  const auto& q = message.orientation;
  return {Vector3(p.x, p.y, p.z), Quaternion(q.w, q.x, q.y, q.z)};
}

}  // namespace

CommandInput::CommandInput(
  rclcpp_lifecycle::LifecycleNode& node, std::string base_frame, FixedFrame frame)
  : node_(node), base_frame_(std::move(base_frame)), frame_(std::move(frame)) {
  subscription_ = node_.create_subscription<Message>(
    "arm/command", command_qos(), [this](const Message& message) { on_command(message); });
  timer_ = node_.create_wall_timer(500ms, [this] { watch_publishers(); });
}

void CommandInput::discard() noexcept {
  forget_ = true;
  commands_.discard();
}

void CommandInput::on_command(const Message& message) {
  if (subscription_->get_publisher_count() > 1) watch_publishers();
  if (!rivals_.empty()) return refuse("more than one publishes commands: " + rivals_);
  const auto target = to_base(message);
  if (!target) {
    return refuse(
      "command " + std::to_string(message.command_seq) + " is in frame '" +
      message.header.frame_id + "', which does not stand still against '" + base_frame_ + "'");
  }
  if (forget_.exchange(false)) last_sequence_.reset();
  if (message.command_seq == last_sequence_) return;
  last_sequence_ = message.command_seq;
  commands_.put({message.command_seq, *target});
}

/// A killed node stays in the graph for some seconds: its successor, of the same name, is no
/// rival.
void CommandInput::watch_publishers() {
  std::set<std::string> names;
  if (subscription_->get_publisher_count() > 1) {
    for (const auto& info : node_.get_publishers_info_by_topic(subscription_->get_topic_name())) {
      if (info.node_name() == UNKNOWN_NODE) continue;
      const auto space = info.node_namespace() == "/" ? "" : info.node_namespace();
      names.insert(space + "/" + info.node_name());
    }
  }
  std::string rivals;
  if (names.size() > 1) {
    for (const auto& name : names) rivals += (rivals.empty() ? "" : ", ") + name;
  }
  if (rivals == rivals_) return;
  rivals_ = rivals;
  if (rivals_.empty()) {
    RCLCPP_INFO(node_.get_logger(), "one publishes commands again: taken");
  } else {
    RCLCPP_ERROR(
      node_.get_logger(), "more than one publishes commands, all are refused: %s", rivals_.c_str());
  }
}

void CommandInput::refuse(const std::string& reason) {
  ++refused_;
  if (reason == complaint_) return;
  complaint_ = reason;
  RCLCPP_WARN(node_.get_logger(), "refused: %s", reason.c_str());
}

std::optional<Pose> CommandInput::to_base(const Message& message) const {
  const Pose target = pose_from(message.target);
  if (message.header.frame_id == base_frame_) return target;
  const auto frame = frame_(message.header.frame_id);
  if (!frame) return std::nullopt;
  return Pose{
    frame->position + frame->orientation * target.position,
    frame->orientation * target.orientation};
}

}  // namespace serl_controllers
