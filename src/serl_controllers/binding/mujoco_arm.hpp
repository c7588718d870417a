// The arm's state read from MuJoCo: no second forward pass, only what a step computed already.
#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

#include "serl_controllers/joint_range.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Seven hinge joints of a model, driven by torque, and the site that is their end effector.
/// The base frame is the frame of the body that carries the first joint's body; it is fixed.
class MujocoArm {
public:
  /// \throws std::invalid_argument naming what the model lacks or has otherwise
  MujocoArm(
    const mjModel* model, const std::string& site, const std::vector<std::string>& joints,
    const std::vector<std::string>& actuators);

  /// Needs positions and velocities as mj_step1 leaves them. `coriolis` stays zero: the
  /// simulator adds it together with gravity, see `write`.
  void read(const mjData* data, ArmState& state) noexcept;

  /// Sets the controls to `torque` plus gravity and Coriolis torque, which on a real arm the
  /// robot adds or the law gets from its model.
  void write(mjData* data, const Vector7& torque) const noexcept;

  /// A body that moves with the last joint.
  bool carries(int body) const noexcept { return carried_[body]; }

  /// \return a vector of the world frame in the base frame
  Vector3 to_base(const Vector3& vector) const noexcept {
    return T_world_base_.orientation.conjugate() * vector;
  }

  int site() const noexcept { return site_; }

  /// Of the seven joints, as the model limits them.
  JointRange joint_range() const noexcept;

private:
  void find_joints(const std::vector<std::string>& joints);
  void find_actuators(const std::vector<std::string>& actuators);
  void find_base();

  const mjModel* model_;
  int site_;
  std::vector<int> joints_, qpos_, dofs_, actuators_;
  std::vector<bool> carried_;  // per body
  Pose T_world_base_;
  std::vector<mjtNum> jacobian_;  // [6, nv] row-major: linear, angular
};

}  // namespace serl_controllers
