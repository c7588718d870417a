// The controller with interfaces that are only numbers: no controller_manager, no hardware.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <rclcpp/executors/single_threaded_executor.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cartesian_impedance_controller.hpp"

namespace serl_controllers {

/// An FR3 at rest under the controller; the caller moves it.
class PluginBench {
public:
  static constexpr double DT = 1e-3;  // [s]

  /// \param urdf  file of the FR3's description
  explicit PluginBench(const std::string& urdf) {
    std::ifstream file(urdf);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "controller";
    params.robot_description = {std::istreambuf_iterator<char>(file), {}};
    params.update_rate = 1000;
    params.controller_manager_update_rate = 1000;
    params.node_options = controller_.define_custom_node_options();
    params.node_options.parameter_overrides(
      {{"joints", JOINTS}, {"base_frame", "link0"}, {"end_effector_frame", "link8"}});
    if (controller_.init(params) != controller_interface::return_type::OK) {
      throw std::runtime_error("init");
    }
  }

  ~PluginBench() { controller_.get_node()->shutdown(); }

  /// \return whether it is active then
  bool start() {
    if (controller_.configure().label() != "inactive") return false;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (const auto& name : controller_.command_interface_configuration().names) {
      commands_.push_back(make<hardware_interface::CommandInterface>(name));
      commands.emplace_back(commands_.back(), nullptr);
    }
    for (const auto& name : controller_.state_interface_configuration().names) {
      states_.push_back(make<hardware_interface::StateInterface>(name));
      states.emplace_back(states_.back(), nullptr);
    }
    controller_.assign_interfaces(std::move(commands), std::move(states));
    set_positions(0.0);
    return controller_.get_node()->activate().label() == "active";
  }

  /// Joints near a pose with bent elbow, `offset` [rad] off it.
  void set_positions(double offset) {
    constexpr double POSE[] = {0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785};
    for (std::size_t i = 0; i < 7; ++i) set_state(i, POSE[i] + offset);
  }

  void set_velocities(double velocity) {
    for (std::size_t i = 7; i < 14; ++i) set_state(i, velocity);
  }

  void set_state(std::size_t index, double value) {
    static_cast<void>(states_.at(index)->set_value(value));
  }

  controller_interface::return_type update() {
    time_ += rclcpp::Duration::from_seconds(DT);
    return controller_.update(time_, rclcpp::Duration::from_seconds(DT));
  }

  double torque(std::size_t joint) { return *commands_.at(joint)->get_optional<double>(); }

  CartesianImpedanceController& controller() { return controller_; }

private:
  inline static const std::vector<std::string> JOINTS{"joint1", "joint2", "joint3", "joint4",
                                                      "joint5", "joint6", "joint7"};

  template <typename Interface>
  static std::shared_ptr<Interface> make(const std::string& name) {
    const auto cut = name.find('/');
    hardware_interface::InterfaceInfo info;
    info.name = name.substr(cut + 1);
    info.data_type = "double";
    info.initial_value = "0.0";
    return std::make_shared<Interface>(
      hardware_interface::InterfaceDescription(name.substr(0, cut), info));
  }

  CartesianImpedanceController controller_;
  std::vector<std::shared_ptr<hardware_interface::CommandInterface>> commands_;
  std::vector<std::shared_ptr<hardware_interface::StateInterface>> states_;
  rclcpp::Time time_{1, 0, RCL_ROS_TIME};
};

}  // namespace serl_controllers
