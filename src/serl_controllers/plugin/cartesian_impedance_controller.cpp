#include "cartesian_impedance_controller.hpp"

#include <chrono>
#include <exception>
#include <pluginlib/class_list_macros.hpp>

#include "serl_controllers/pinocchio_model.hpp"

namespace serl_controllers {
namespace {

using std::chrono_literals::operator""ms;
using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;

WrenchSource source_of(const std::string& name) {
  if (name == "sensor") return WrenchSource::SENSOR;
  return name == "effort" ? WrenchSource::EFFORT : WrenchSource::NONE;
}

const char* text(Mode mode) noexcept {
  switch (mode) {
    case Mode::IDLE:
      return "IDLE";
    case Mode::IMPEDANCE:
      return "IMPEDANCE";
    case Mode::HOLD:
      return "HOLD";
    case Mode::JOINT_MOVE:
      return "JOINT_MOVE";
    default:
      return "FAULT";
  }
}

}  // namespace

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_init() {
  try {
    listener_ = std::make_shared<cartesian_impedance_controller::ParamListener>(get_node());
    params_ = listener_->get_params();
  } catch (const std::exception& error) {
    RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_configure(
  const rclcpp_lifecycle::State&) {
  try {
    params_ = listener_->get_params();
    const LawParameters parameters =
      law_parameters_from([this](const std::string& name) { return parameter(name); });
    model_ = make_pinocchio_model(
      get_robot_description(), {params_.joints, params_.base_frame, params_.end_effector_frame});
    law_parameters_.discard();  // `parameters` are newer
    law_.emplace(parameters, model_->joint_range());
    joints_.emplace(
      params_.joints, source_of(params_.external_wrench.source), params_.external_wrench.sensor);
    observer_.emplace(params_.external_wrench.time_constant);
    make_interface();
  } catch (const std::exception& error) {
    RCLCPP_ERROR(get_node()->get_logger(), "not configured: %s", error.what());
    release();
    return CallbackReturn::FAILURE;
  }
  return CallbackReturn::SUCCESS;
}

void CartesianImpedanceController::make_interface() {
  auto& node = *get_node();
  input_ = std::make_unique<CommandInput>(
    node, params_.base_frame,
    [this](const std::string& name) { return model_->fixed_frame(name); });
  joint_input_ = std::make_unique<JointInput>(node);
  output_ = std::make_unique<StateOutput>(node, params_.base_frame, params_.state_rate);
  recover_service_ = node.create_service<std_srvs::srv::Trigger>(
    "~/recover", [this](
                   const std_srvs::srv::Trigger::Request::SharedPtr,
                   std_srvs::srv::Trigger::Response::SharedPtr response) {
      response->success = mode_ == Mode::FAULT;
      response->message = response->success ? "recovers at the next tick" : "there is no fault";
      if (response->success) recover_ = true;
    });
  gripper_subscription_ = node.create_subscription<std_msgs::msg::Float32>(
    "arm/gripper", rclcpp::QoS(5),
    [this](const std_msgs::msg::Float32& message) { gripper_ = message.data; });
  report_timer_ = node.create_wall_timer(200ms, [this] { report_mode(); });
  watch_parameters();
}

/// A change is checked as a whole before any of it is applied, and reaches the loop by a box.
void CartesianImpedanceController::watch_parameters() {
  before_change_ = get_node()->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter>& changes) {
      rcl_interfaces::msg::SetParametersResult result;
      result.successful = true;
      try {
        law_parameters_from([&](const std::string& name) {
          for (const auto& change : changes) {
            if (change.get_name() == name) return change;
          }
          return parameter(name);
        });
      } catch (const std::exception& error) {
        result.successful = false;
        result.reason = error.what();
      }
      return result;
    });
  after_change_ =
    get_node()->add_post_set_parameters_callback([this](const std::vector<rclcpp::Parameter>&) {
      const auto lookup = [this](const std::string& name) { return parameter(name); };
      law_parameters_.put(law_parameters_from(lookup));
    });
}

rclcpp::Parameter CartesianImpedanceController::parameter(const std::string& name) const {
  return get_node()->get_parameter(name);
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_activate(
  const rclcpp_lifecycle::State&) {
  const auto misplaced = joints_->misplaced(command_interfaces_, state_interfaces_);
  if (!misplaced.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "no interface %s", misplaced.c_str());
    return CallbackReturn::FAILURE;
  }
  joints_->read(state_interfaces_);
  state_.q = joints_->q();
  state_.dq = joints_->dq();
  if (!state_.q.allFinite() || !state_.dq.allFinite()) {
    RCLCPP_ERROR(get_node()->get_logger(), "the joints' state is not finite");
    return CallbackReturn::FAILURE;
  }
  model_->update(state_);
  joint_input_->discard();
  input_->discard();  // what was set while inactive: parameters count, commands do not
  take_inputs();
  law_->reset(state_);
  observer_->reset(model_->momentum(state_));
  external_torque_.setZero();
  external_wrench_.setZero();
  command_seq_ = 0;
  recover_ = false;
  joints_->write(command_interfaces_, Vector7::Zero());
  return CallbackReturn::SUCCESS;
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_deactivate(
  const rclcpp_lifecycle::State&) {
  joints_->write(command_interfaces_, Vector7::Zero());
  mode_ = Mode::IDLE;
  return CallbackReturn::SUCCESS;
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_cleanup(
  const rclcpp_lifecycle::State&) {
  release();
  return CallbackReturn::SUCCESS;
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_error(
  const rclcpp_lifecycle::State&) {
  release();
  return CallbackReturn::SUCCESS;  // to unconfigured
}

CartesianImpedanceController::CallbackReturn CartesianImpedanceController::on_shutdown(
  const rclcpp_lifecycle::State&) {
  release();
  return CallbackReturn::SUCCESS;
}

void CartesianImpedanceController::release() noexcept {
  before_change_.reset();
  after_change_.reset();
  report_timer_.reset();
  gripper_subscription_.reset();
  recover_service_.reset();
  output_.reset();
  joint_input_.reset();
  input_.reset();
  observer_.reset();
  joints_.reset();
  law_.reset();
  model_.reset();
  mode_ = Mode::IDLE;
}

InterfaceConfiguration CartesianImpedanceController::command_interface_configuration() const {
  if (!joints_) return {interface_configuration_type::NONE, {}};
  return {interface_configuration_type::INDIVIDUAL, joints_->command_names()};
}

InterfaceConfiguration CartesianImpedanceController::state_interface_configuration() const {
  if (!joints_) return {interface_configuration_type::NONE, {}};
  return {interface_configuration_type::INDIVIDUAL, joints_->state_names()};
}

controller_interface::return_type CartesianImpedanceController::update(
  const rclcpp::Time& time, const rclcpp::Duration& period) {
  const double dt = period.seconds();
  joints_->read(state_interfaces_);
  state_.q = joints_->q();
  state_.dq = joints_->dq();
  model_->update(state_);
  take_inputs();
  const Vector7& torque = law_->update(state_, dt);
  joints_->write(command_interfaces_, torque);
  mode_ = law_->status().mode;
  observe(dt);
  output_->write(
    time, dt,
    {state_, law_->status(), external_torque_, external_wrench_, command_seq_, input_->refused(),
     gripper_});
  return controller_interface::return_type::OK;
}

void CartesianImpedanceController::take_inputs() noexcept {
  if (const auto parameters = law_parameters_.take()) law_->set_parameters(*parameters);
  if (recover_.exchange(false)) law_->recover();
  if (const auto order = joint_input_->take(); order && order->cancel) {
    law_->cancel_joint_move();
  } else if (order) {
    law_->start_joint_move(order->q, order->max_velocity);
  }
  if (const auto command = input_->take(); command && law_->set_target(command->target)) {
    command_seq_ = command->sequence;
  }
}

void CartesianImpedanceController::observe(double dt) noexcept {
  if (joints_->source() == WrenchSource::NONE || !state_.all_finite()) return;
  if (joints_->source() == WrenchSource::SENSOR) {
    external_wrench_ = joints_->wrench();
    external_torque_ = state_.jacobian.transpose() * external_wrench_;
    return;
  }
  const Momentum momentum = model_->momentum(state_);
  Vector7 effort = joints_->effort();
  if (!effort.allFinite()) return;
  if (!params_.external_wrench.effort_includes_gravity) effort += momentum.gravity;
  external_torque_ = observer_->update(momentum, effort, dt);
  external_wrench_ = wrench_of_torque(state_.jacobian, external_torque_);
}

void CartesianImpedanceController::report_mode() {
  const Mode mode = mode_;
  if (mode == mode_reported_) return;
  RCLCPP_INFO(get_node()->get_logger(), "mode %s -> %s", text(mode_reported_), text(mode));
  mode_reported_ = mode;
}

}  // namespace serl_controllers

PLUGINLIB_EXPORT_CLASS(
  serl_controllers::CartesianImpedanceController, controller_interface::ControllerInterface)
