#include "joint_interfaces.hpp"

namespace serl_controllers {
namespace {

constexpr const char* POSITION = "position";
constexpr const char* VELOCITY = "velocity";
constexpr const char* EFFORT = "effort";
constexpr const char* WRENCH[] = {"force.x",  "force.y",  "force.z",
                                  "torque.x", "torque.y", "torque.z"};

template <typename Interfaces>
std::string first_misplaced(const Interfaces& interfaces, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i >= interfaces.size() || interfaces[i].get_name() != names[i]) return names[i];
  }
  return "";
}

}  // namespace

JointInterfaces::JointInterfaces(
  const std::vector<std::string>& joints, WrenchSource source, const std::string& sensor)
  : source_(source) {
  const auto name_all = [&](const char* kind, std::vector<std::string>& names) {
    for (const auto& joint : joints) names.push_back(joint + "/" + kind);
  };
  name_all(EFFORT, command_names_);
  name_all(POSITION, state_names_);
  name_all(VELOCITY, state_names_);
  if (source == WrenchSource::EFFORT) name_all(EFFORT, state_names_);
  if (source == WrenchSource::SENSOR) {
    for (const char* axis : WRENCH) state_names_.push_back(sensor + "/" + axis);
  }
}

std::string JointInterfaces::misplaced(
  const CommandInterfaces& commands, const StateInterfaces& states) const {
  const auto command = first_misplaced(commands, command_names_);
  return command.empty() ? first_misplaced(states, state_names_) : command;
}

void JointInterfaces::read(const StateInterfaces& interfaces) noexcept {
  std::size_t next = 0;
  const auto read_into = [&](auto& values) {
    for (auto& value : values) {
      const auto fresh = interfaces[next++].get_optional<double>();
      if (fresh) value = *fresh;
    }
  };
  read_into(q_);
  read_into(dq_);
  if (source_ == WrenchSource::EFFORT) read_into(effort_);
  if (source_ == WrenchSource::SENSOR) read_into(wrench_);
}

void JointInterfaces::write(CommandInterfaces& interfaces, const Vector7& torque) const noexcept {
  for (std::size_t i = 0; i < 7; ++i) {
    // A refused write keeps the torque of the last tick; the next one comes a tick later.
    static_cast<void>(interfaces[i].set_value(torque[static_cast<Eigen::Index>(i)]));
  }
}

}  // namespace serl_controllers
