// The plugin moves an arm in MuJoCo as the simulator's own loop does, sample by sample.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <rclcpp/executors/single_threaded_executor.hpp>
#include <serl_interfaces/msg/arm_command.hpp>
#include <stdexcept>

#include "plugin_bench.hpp"
#include "simulated_arm.hpp"

namespace serl_controllers {
namespace {

constexpr int TICKS = 3000;
constexpr int FIRST_WAIT = 10000;  // ticks before the command has arrived, at most
const std::vector<std::string> JOINTS{"joint1", "joint2", "joint3", "joint4",
                                      "joint5", "joint6", "joint7"};

struct Delete {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
  void operator()(mjData* data) const { mj_deleteData(data); }
  void operator()(mjSpec* spec) const { mj_deleteSpec(spec); }
};

/// The FR3 of the description with motors and their inertia; its weight is carried.
std::unique_ptr<mjModel, Delete> make_model() {
  char error[500] = "";
  const std::unique_ptr<mjSpec, Delete> spec(mj_parseXML(FR3_URDF, nullptr, error, sizeof(error)));
  if (!spec) throw std::runtime_error(error);
  spec->option.timestep = PluginBench::DT;
  spec->option.integrator = mjINT_IMPLICITFAST;
  for (const auto& name : JOINTS) {
    auto* joint = mjs_asJoint(mjs_findElement(spec.get(), mjOBJ_JOINT, name.c_str()));
    joint->armature = 0.1;
    joint->frictionloss = 0.0;
    auto* motor = mjs_addActuator(spec.get(), nullptr);
    mjs_setName(motor->element, name.c_str());
    mjs_setString(motor->target, name.c_str());
    motor->trntype = mjTRN_JOINT;
    mjs_setToMotor(motor);
  }
  for (auto* body = mjs_firstElement(spec.get(), mjOBJ_BODY); body != nullptr;
       body = mjs_nextElement(spec.get(), body)) {
    mjs_asBody(body)->gravcomp = 1.0;
  }
  auto* site = mjs_addSite(mjs_findBody(spec.get(), "link7"), nullptr);
  mjs_setName(site->element, "link8");
  site->pos[2] = 0.107;
  return std::unique_ptr<mjModel, Delete>(mj_compile(spec.get(), nullptr));
}

/// A model at the start of PluginBench.
class Physics {
public:
  Physics() : model(make_model()), data(mj_makeData(model.get())) {
    constexpr double POSE[] = {0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785};
    mju_copy(data->qpos, POSE, 7);
    mj_forward(model.get(), data.get());
  }

  const std::unique_ptr<mjModel, Delete> model;
  const std::unique_ptr<mjData, Delete> data;
};

class StepResponse : public ::testing::Test {
protected:
  /// In a namespace of its own: nobody else hears the command.
  static void SetUpTestSuite() {
    const std::string space = "__ns:=/step_response_" + std::to_string(getpid());
    const char* arguments[] = {"test", "--ros-args", "-r", space.c_str()};
    rclcpp::init(4, arguments);
  }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// One tick of the plugin on its physics.
  void tick(PluginBench& bench, Physics& physics) {
    for (int i = 0; i < 7; ++i) {
      bench.set_state(i, physics.data->qpos[i]);
      bench.set_state(7 + i, physics.data->qvel[i]);
    }
    ASSERT_EQ(bench.update(), controller_interface::return_type::OK);
    for (int i = 0; i < 7; ++i) physics.data->ctrl[i] = bench.torque(i);
  }

  /// Publishes the target until the plugin follows it; at rest, the ticks before change nothing.
  void command(PluginBench& bench, Physics& physics, const Pose& target) {
    const auto node = std::make_shared<rclcpp::Node>("commander");
    const auto publisher =
      node->create_publisher<serl_interfaces::msg::ArmCommand>("arm/command", 5);
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(bench.controller().get_node()->get_node_base_interface());
    serl_interfaces::msg::ArmCommand message;
    message.command_seq = 1;
    message.header.frame_id = "link0";
    message.target.position.x = target.position.x();
    message.target.position.y = target.position.y();
    message.target.position.z = target.position.z();
    message.target.orientation.x = target.orientation.x();
    message.target.orientation.y = target.orientation.y();
    message.target.orientation.z = target.orientation.z();
    message.target.orientation.w = target.orientation.w();
    for (int i = 0; i < FIRST_WAIT && mju_norm(physics.data->ctrl, 7) < 1e-6; ++i) {
      publisher->publish(message);
      executor.spin_once(std::chrono::milliseconds(5));
      tick(bench, physics);
    }
    ASSERT_GT(mju_norm(physics.data->ctrl, 7), 1e-6) << "the command did not arrive";
  }
};

TEST_F(StepResponse, is_that_of_the_simulators_loop_at_every_tick) {
  PluginBench bench(FR3_URDF);
  bench.controller().get_node()->set_parameter({"command_timeout", 1e-3 * TICKS + 1.0});
  ASSERT_TRUE(bench.start());
  LawParameters parameters;
  parameters.command_timeout = 1e-3 * TICKS + 1.0;
  Physics plugins, simulators;
  SimulatedArm arm(
    simulators.model.get(), simulators.data.get(), "link8", JOINTS, JOINTS, parameters);

  Pose target = arm.state().T_base_ee;
  target.position += Vector3(0.03, -0.02, 0.04);
  target.orientation =
    Quaternion(Eigen::AngleAxisd(0.2, Vector3(1, 2, 2).normalized())) * target.orientation;
  command(bench, plugins, target);
  ASSERT_TRUE(arm.set_target(target));

  for (int i = 0; i < TICKS; ++i) {
    if (i > 0) tick(bench, plugins);
    mj_step(plugins.model.get(), plugins.data.get());
    arm.step(1);
    for (int joint = 0; joint < 7; ++joint) {
      ASSERT_NEAR(plugins.data->qpos[joint], simulators.data->qpos[joint], 1e-6) << "tick " << i;
      ASSERT_NEAR(plugins.data->qvel[joint], simulators.data->qvel[joint], 1e-5) << "tick " << i;
    }
  }
  EXPECT_LT((arm.state().T_base_ee.position - target.position).norm(), 2e-3);
}

}  // namespace
}  // namespace serl_controllers
