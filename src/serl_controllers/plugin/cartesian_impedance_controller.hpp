// The impedance law as a ros2_control controller: read, law, write, publish.
#pragma once

#include <atomic>
#include <controller_interface/controller_interface.hpp>
#include <memory>
#include <optional>
#include <std_msgs/msg/float32.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <string>

#include "command_input.hpp"
#include "joint_input.hpp"
#include "joint_interfaces.hpp"
#include "law_parameters_from_node.hpp"
#include "mailbox.hpp"
#include "serl_controllers/arm_model.hpp"
#include "serl_controllers/cartesian_impedance_controller_parameters.hpp"
#include "serl_controllers/external_torque.hpp"
#include "serl_controllers/impedance_law.hpp"
#include "state_output.hpp"

namespace serl_controllers {

/// Follows `arm/command` and `arm/joint_command`, publishes `arm/state`; all relative to the node's
/// namespace.
/// `~/recover` leaves FAULT. `arm/gripper` (0 closed .. 1 open) is what the state says of the
/// gripper, which somebody else drives.
class CartesianImpedanceController : public controller_interface::ControllerInterface {
public:
  using CallbackReturn = controller_interface::CallbackReturn;

  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_error(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_shutdown(const rclcpp_lifecycle::State& previous) override;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  /// Real-time safe.
  controller_interface::return_type update(
    const rclcpp::Time& time, const rclcpp::Duration& period) override;

private:
  void make_interface();
  void watch_parameters();
  void release() noexcept;
  void take_inputs() noexcept;
  void observe(double dt) noexcept;
  void report_mode();
  rclcpp::Parameter parameter(const std::string& name) const;

  std::shared_ptr<cartesian_impedance_controller::ParamListener> listener_;
  cartesian_impedance_controller::Params params_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr before_change_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr after_change_;

  // Of the loop, made by on_configure.
  std::unique_ptr<ArmModel> model_;
  std::optional<ImpedanceLaw> law_;
  std::optional<JointInterfaces> joints_;
  std::unique_ptr<CommandInput> input_;
  std::unique_ptr<JointInput> joint_input_;
  std::unique_ptr<StateOutput> output_;
  std::optional<ExternalTorque> observer_;
  ArmState state_;
  Vector7 external_torque_ = Vector7::Zero();
  Vector6 external_wrench_ = Vector6::Zero();
  std::uint64_t command_seq_ = 0;

  // Between the loop and the callbacks.
  Mailbox<LawParameters> law_parameters_;
  std::atomic<bool> recover_{false};
  std::atomic<float> gripper_{0.0F};
  std::atomic<Mode> mode_{Mode::IDLE};
  Mode mode_reported_ = Mode::IDLE;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr recover_service_;
  rclcpp::Subscription<std_msgs::msg::Float32>::SharedPtr gripper_subscription_;
  rclcpp::TimerBase::SharedPtr report_timer_;
};

}  // namespace serl_controllers
