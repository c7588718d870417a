#include "serl_controllers/pinocchio_model.hpp"

#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>
#include <stdexcept>

namespace serl_controllers {
namespace {

constexpr int JOINTS = 7;

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument("robot description: " + text);
}

pinocchio::Model parse(const std::string& urdf) {
  pinocchio::Model model;
  try {
    pinocchio::urdf::buildModelFromXML(urdf, model);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
  return model;
}

/// The model with every joint but the named ones locked.
pinocchio::Model reduce(const pinocchio::Model& whole, const std::vector<std::string>& joints) {
  if (joints.size() != JOINTS) refuse("expected 7 joints, got " + std::to_string(joints.size()));
  std::vector<bool> wanted(whole.njoints, false);
  for (const auto& name : joints) {
    if (!whole.existJointName(name)) refuse("no moving joint '" + name + "'");
    const auto id = whole.getJointId(name);
    if (wanted[id]) refuse("joint '" + name + "' is named twice");
    if (whole.joints[id].nq() != 1) refuse("joint '" + name + "' is not revolute");
    wanted[id] = true;
  }
  std::vector<pinocchio::JointIndex> locked;
  for (pinocchio::JointIndex id = 1; id < static_cast<pinocchio::JointIndex>(whole.njoints); ++id) {
    if (!wanted[id]) locked.push_back(id);
  }
  return pinocchio::buildReducedModel(whole, locked, pinocchio::neutral(whole));
}

pinocchio::FrameIndex find_link(const pinocchio::Model& model, const std::string& name) {
  if (!model.existFrame(name, pinocchio::BODY)) refuse("no link '" + name + "'");
  return model.getFrameId(name, pinocchio::BODY);
}

class PinocchioModel : public ArmModel {
public:
  PinocchioModel(const std::string& urdf, const ArmNames& names)
    : model_(reduce(parse(urdf), names.joints)),
      data_(model_),
      end_effector_(find_link(model_, names.end_effector_frame)) {
    for (const auto& name : names.joints) {
      columns_.push_back(model_.joints[model_.getJointId(name)].idx_v());
    }
    const auto& base = model_.frames[find_link(model_, names.base_frame)];
    if (base.parentJoint != 0) refuse("link '" + names.base_frame + "' moves with the arm");
    const auto& tip = model_.frames[end_effector_];
    if (tip.parentJoint != model_.getJointId(names.joints.back())) {
      refuse(
        "link '" + names.end_effector_frame + "' is not on what joint '" + names.joints.back() +
        "' moves");
    }
    T_base_world_ = base.placement.inverse();
    q_.setZero(JOINTS);
    dq_.setZero(JOINTS);
    jacobian_.setZero(6, JOINTS);
  }

  void update(ArmState& state) noexcept override {
    for (int i = 0; i < JOINTS; ++i) {
      q_[columns_[i]] = state.q[i];
      dq_[columns_[i]] = state.dq[i];
    }
    pinocchio::computeCoriolisMatrix(model_, data_, q_, dq_);  // placements and Jacobians too
    const auto T_base_ee =
      T_base_world_ * pinocchio::updateFramePlacement(model_, data_, end_effector_);
    state.T_base_ee.position = T_base_ee.translation();
    state.T_base_ee.orientation = Quaternion(T_base_ee.rotation());
    pinocchio::getFrameJacobian(
      model_, data_, end_effector_, pinocchio::LOCAL_WORLD_ALIGNED, jacobian_);
    for (int i = 0; i < JOINTS; ++i) {
      const int column = columns_[i];
      state.jacobian.col(i).head<3>() = T_base_world_.rotation() * jacobian_.col(column).head<3>();
      state.jacobian.col(i).tail<3>() = T_base_world_.rotation() * jacobian_.col(column).tail<3>();
      state.coriolis[i] = data_.C.row(column).dot(dq_);
    }
  }

  Momentum momentum(const ArmState&) noexcept override {
    pinocchio::crba(model_, data_, q_);
    pinocchio::computeGeneralizedGravity(model_, data_, q_);
    data_.M.triangularView<Eigen::StrictlyLower>() =
      data_.M.transpose().triangularView<Eigen::StrictlyLower>();
    Momentum result;
    for (int i = 0; i < JOINTS; ++i) {
      const int column = columns_[i];
      result.momentum[i] = data_.M.row(column).dot(dq_);
      result.gravity[i] = data_.g[column];
      result.drift[i] = data_.C.col(column).dot(dq_) - data_.g[column];
    }
    return result;
  }

  JointRange joint_range() const override {
    JointRange range;
    for (int i = 0; i < JOINTS; ++i) {
      range.lower[i] = model_.lowerPositionLimit[columns_[i]];
      range.upper[i] = model_.upperPositionLimit[columns_[i]];
    }
    return range;
  }

  std::optional<Pose> fixed_frame(const std::string& name) const override {
    if (!model_.existFrame(name, pinocchio::BODY)) return std::nullopt;
    const auto& frame = model_.frames[model_.getFrameId(name, pinocchio::BODY)];
    if (frame.parentJoint != 0) return std::nullopt;
    const auto T_base_frame = T_base_world_ * frame.placement;
    return Pose{T_base_frame.translation(), Quaternion(T_base_frame.rotation())};
  }

private:
  pinocchio::Model model_;
  pinocchio::Data data_;
  pinocchio::FrameIndex end_effector_;
  std::vector<int> columns_;  // of the model, per joint
  pinocchio::SE3 T_base_world_;
  Eigen::VectorXd q_, dq_;
  pinocchio::Data::Matrix6x jacobian_;
};

}  // namespace

std::unique_ptr<ArmModel> make_pinocchio_model(const std::string& urdf, const ArmNames& names) {
  return std::make_unique<PinocchioModel>(urdf, names);
}

}  // namespace serl_controllers
