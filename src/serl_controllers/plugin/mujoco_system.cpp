#include "mujoco_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <pluginlib/class_list_macros.hpp>
#include <stdexcept>

namespace serl_controllers {
namespace {

constexpr double TIME_STEP = 1e-3;  // [s]
constexpr int MOST_STEPS = 20;      // per cycle: a late loop must not fall behind for good

std::string parameter(const hardware_interface::HardwareInfo& info, const std::string& name) {
  const auto found = info.hardware_parameters.find(name);
  return found == info.hardware_parameters.end() ? "" : found->second;
}

/// \throws std::runtime_error naming the parameter that is no number
double number(
  const hardware_interface::HardwareInfo& info, const std::string& name, double fallback) {
  const auto text = parameter(info, name);
  if (text.empty()) return fallback;
  std::size_t read = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {  // told below
  }
  if (read != text.size() || !std::isfinite(value) || value < 0.0) {
    throw std::runtime_error(name + " is '" + text + "', expected a number of at least 0");
  }
  return value;
}

double start_of(const hardware_interface::ComponentInfo& joint) {
  for (const auto& interface : joint.state_interfaces) {
    if (interface.name == "position" && !interface.initial_value.empty()) {
      return std::stod(interface.initial_value);
    }
  }
  return 0.0;
}

/// Nothing is seen or touched here, and their files need not be there.
void remove_meshes(mjSpec* spec) {
  for (const auto type : {mjOBJ_GEOM, mjOBJ_MESH}) {
    for (auto* element = mjs_firstElement(spec, type); element != nullptr;) {
      auto* const next = mjs_nextElement(spec, element);
      if (type == mjOBJ_MESH || mjs_asGeom(element)->type == mjGEOM_MESH) mjs_delete(spec, element);
      element = next;
    }
  }
}

}  // namespace

MujocoSystem::CallbackReturn MujocoSystem::on_init(
  const hardware_interface::HardwareComponentInterfaceParams& params) {
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  try {
    load();
    find_joints();
  } catch (const std::exception& error) {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

void MujocoSystem::load() {
  const double friction = number(get_hardware_info(), "joint_friction_scale", 1.0);
  std::array<char, 1000> error{};
  const int size = static_cast<int>(error.size());
  const auto path = parameter(get_hardware_info(), "model_path");
  mjSpec* spec =
    path.empty()
      ? mj_parseXMLString(get_hardware_info().original_xml.c_str(), nullptr, error.data(), size)
      : mj_parseXML(path.c_str(), nullptr, error.data(), size);
  if (spec == nullptr) throw std::runtime_error(std::string("model: ") + error.data());
  remove_meshes(spec);
  spec->option.timestep = TIME_STEP;
  spec->option.integrator = mjINT_IMPLICITFAST;
  spec->option.disableflags |= mjDSBL_ACTUATION;  // servos of the model's own would fight
  for (auto* body = mjs_firstElement(spec, mjOBJ_BODY); body != nullptr;
       body = mjs_nextElement(spec, body)) {
    mjs_asBody(body)->gravcomp = 1.0;
  }
  for (auto* joint = mjs_firstElement(spec, mjOBJ_JOINT); joint != nullptr;
       joint = mjs_nextElement(spec, joint)) {
    mjs_asJoint(joint)->frictionloss *= friction;
  }
  model_.reset(mj_compile(spec, nullptr));
  const std::string reason = model_ ? "" : mjs_getError(spec);
  mj_deleteSpec(spec);
  if (!model_) throw std::runtime_error("model: " + reason);
  data_.reset(mj_makeData(model_.get()));
}

void MujocoSystem::find_joints() {
  for (const auto& joint : get_hardware_info().joints) {
    const int id = mj_name2id(model_.get(), mjOBJ_JOINT, joint.name.c_str());
    if (id < 0) throw std::runtime_error("the model has no joint '" + joint.name + "'");
    joints_.push_back(
      {joint.name + "/position", joint.name + "/velocity", joint.name + "/effort",
       model_->jnt_qposadr[id], model_->jnt_dofadr[id], start_of(joint)});
  }
}

MujocoSystem::CallbackReturn MujocoSystem::on_activate(const rclcpp_lifecycle::State&) {
  mj_resetData(model_.get(), data_.get());
  for (const auto& joint : joints_) {
    data_->qpos[joint.qpos] = joint.start;
    set_command(joint.effort, 0.0);
  }
  mj_forward(model_.get(), data_.get());
  return CallbackReturn::SUCCESS;
}

hardware_interface::return_type MujocoSystem::read(const rclcpp::Time&, const rclcpp::Duration&) {
  for (const auto& joint : joints_) {
    set_state(joint.position, data_->qpos[joint.qpos]);
    set_state(joint.velocity, data_->qvel[joint.dof]);
    set_state(joint.effort, data_->qfrc_applied[joint.dof] + data_->qfrc_gravcomp[joint.dof]);
  }
  return hardware_interface::return_type::OK;
}

hardware_interface::return_type MujocoSystem::write(
  const rclcpp::Time&, const rclcpp::Duration& period) {
  for (const auto& joint : joints_) {
    const double torque = get_command<double>(joint.effort);
    data_->qfrc_applied[joint.dof] = std::isfinite(torque) ? torque : 0.0;
  }
  const int steps = static_cast<int>(std::lround(period.seconds() / TIME_STEP));
  for (int i = 0; i < std::clamp(steps, 1, MOST_STEPS); ++i) mj_step(model_.get(), data_.get());
  return hardware_interface::return_type::OK;
}

}  // namespace serl_controllers

PLUGINLIB_EXPORT_CLASS(serl_controllers::MujocoSystem, hardware_interface::SystemInterface)
