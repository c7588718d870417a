#include "mujoco_arm.hpp"

#include <limits>
#include <stdexcept>

namespace serl_controllers {
namespace {

constexpr std::size_t JOINTS = 7;

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

int find(const mjModel* model, mjtObj type, const std::string& name) {
  const int id = mj_name2id(model, type, name.c_str());
  if (id < 0) refuse(std::string("the model has no ") + mju_type2Str(type) + " '" + name + "'");
  return id;
}

Quaternion quaternion_from_wxyz(const mjtNum* wxyz) noexcept {
  return Quaternion(wxyz[0], wxyz[1], wxyz[2], wxyz[3]);
}

}  // namespace

MujocoArm::MujocoArm(
  const mjModel* model, const std::string& site, const std::vector<std::string>& joints,
  const std::vector<std::string>& actuators)
  : model_(model), site_(find(model, mjOBJ_SITE, site)) {
  find_joints(joints);
  find_actuators(actuators);
  find_base();
  const int last = model_->jnt_bodyid[joints_.back()];
  carried_.resize(model_->nbody);
  for (int body = 1; body < model_->nbody; ++body) {  // parents come before their children
    carried_[body] = body == last || carried_[model_->body_parentid[body]];
  }
  if (!carried_[model_->site_bodyid[site_]]) {
    refuse("site '" + site + "' is not on what joint '" + joints.back() + "' moves");
  }
  jacobian_.resize(6 * model_->nv);
}

void MujocoArm::find_joints(const std::vector<std::string>& joints) {
  if (joints.size() != JOINTS) {
    refuse("expected 7 joints, got " + std::to_string(joints.size()));
  }
  for (const auto& name : joints) {
    const int joint = find(model_, mjOBJ_JOINT, name);
    if (model_->jnt_type[joint] != mjJNT_HINGE) refuse("joint '" + name + "' is not a hinge");
    joints_.push_back(joint);
    qpos_.push_back(model_->jnt_qposadr[joint]);
    dofs_.push_back(model_->jnt_dofadr[joint]);
  }
}

void MujocoArm::find_actuators(const std::vector<std::string>& actuators) {
  if (actuators.size() != JOINTS) {
    refuse("expected 7 actuators, got " + std::to_string(actuators.size()));
  }
  for (std::size_t i = 0; i < JOINTS; ++i) {
    const int actuator = find(model_, mjOBJ_ACTUATOR, actuators[i]);
    const bool drives = model_->actuator_trntype[actuator] == mjTRN_JOINT &&
                        model_->actuator_trnid[2 * actuator] == joints_[i];
    const bool is_torque = model_->actuator_dyntype[actuator] == mjDYN_NONE &&
                           model_->actuator_gaintype[actuator] == mjGAIN_FIXED &&
                           model_->actuator_gainprm[actuator * mjNGAIN] == 1.0 &&
                           model_->actuator_biastype[actuator] == mjBIAS_NONE &&
                           model_->actuator_gear[6 * actuator] == 1.0;
    if (!drives || !is_torque) {
      refuse("actuator '" + actuators[i] + "' is not a motor of gear 1 on its joint");
    }
    actuators_.push_back(actuator);
  }
}

void MujocoArm::find_base() {
  int body = model_->body_parentid[model_->jnt_bodyid[joints_.front()]];
  if (model_->body_weldid[body] != 0) refuse("the base of the arm is not fixed to the world");
  for (; body != 0; body = model_->body_parentid[body]) {
    const Quaternion turn = quaternion_from_wxyz(model_->body_quat + 4 * body);
    const Vector3 offset = Eigen::Map<const Vector3>(model_->body_pos + 3 * body);
    T_world_base_.position = offset + turn * T_world_base_.position;
    T_world_base_.orientation = turn * T_world_base_.orientation;
  }
}

void MujocoArm::read(const mjData* data, ArmState& state) noexcept {
  using Rows = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  const int nv = model_->nv;
  mj_jacSite(model_, data, jacobian_.data(), jacobian_.data() + 3 * nv, site_);
  const Eigen::Matrix3d R_base_world = T_world_base_.orientation.conjugate().toRotationMatrix();
  for (std::size_t i = 0; i < JOINTS; ++i) {
    const int dof = dofs_[i];
    state.q[i] = data->qpos[qpos_[i]];
    state.dq[i] = data->qvel[dof];
    const mjtNum* column = jacobian_.data() + dof;
    const Vector3 linear(column[0], column[nv], column[2 * nv]);
    const Vector3 angular(column[3 * nv], column[4 * nv], column[5 * nv]);
    state.jacobian.col(i) << R_base_world * linear, R_base_world * angular;
  }
  const Vector3 position = Eigen::Map<const Vector3>(data->site_xpos + 3 * site_);
  const Eigen::Map<const Rows> orientation(data->site_xmat + 9 * site_);
  state.T_base_ee.position = R_base_world * (position - T_world_base_.position);
  state.T_base_ee.orientation = Quaternion(Eigen::Matrix3d(R_base_world * orientation));
}

JointRange MujocoArm::joint_range() const noexcept {
  constexpr double INFINITE = std::numeric_limits<double>::infinity();
  JointRange range{Vector7::Constant(-INFINITE), Vector7::Constant(INFINITE)};
  for (std::size_t i = 0; i < JOINTS; ++i) {
    if (!model_->jnt_limited[joints_[i]]) continue;
    range.lower[i] = model_->jnt_range[2 * joints_[i]];
    range.upper[i] = model_->jnt_range[2 * joints_[i] + 1];
  }
  return range;
}

void MujocoArm::write(mjData* data, const Vector7& torque) const noexcept {
  for (std::size_t i = 0; i < JOINTS; ++i) {
    const int dof = dofs_[i];
    // A model may compensate gravity itself, in part or in whole (gravcomp).
    const double bias = data->qfrc_bias[dof] - data->qfrc_gravcomp[dof];
    data->ctrl[actuators_[i]] = torque[i] + bias;
  }
}

}  // namespace serl_controllers
