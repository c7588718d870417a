// A stand-in for an arm's hardware: MuJoCo behind ros2_control.
#pragma once

#include <mujoco/mujoco.h>

#include <hardware_interface/system_interface.hpp>
#include <memory>
#include <string>
#include <vector>

namespace serl_controllers {

/// Joints under torque whose weight the arm itself carries, as on a Franka arm. A joint starts at
/// the initial_value of its position; effort as a state carries the arm's weight.
///
/// The model is the robot description, or the MJCF or URDF file of the hardware parameter
/// `model_path`, without its meshes and servos: every body has an inertia of its own. Of its joint
/// friction the share `joint_friction_scale` is left, 1 by default; a real arm compensates most.
class MujocoSystem : public hardware_interface::SystemInterface {
public:
  using CallbackReturn = hardware_interface::CallbackReturn;

  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams& params) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) override;
  hardware_interface::return_type read(
    const rclcpp::Time& time, const rclcpp::Duration& period) override;
  hardware_interface::return_type write(
    const rclcpp::Time& time, const rclcpp::Duration& period) override;

private:
  struct Joint {
    std::string position, velocity, effort;  // names of the interfaces
    int qpos, dof;                           // where it is in the data
    double start;                            // [rad]
  };
  struct Delete {
    void operator()(mjModel* model) const { mj_deleteModel(model); }
    void operator()(mjData* data) const { mj_deleteData(data); }
  };

  void load();
  void find_joints();

  std::unique_ptr<mjModel, Delete> model_;
  std::unique_ptr<mjData, Delete> data_;
  std::vector<Joint> joints_;
};

}  // namespace serl_controllers
