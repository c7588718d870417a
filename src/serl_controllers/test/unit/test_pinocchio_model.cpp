// The plugin's model against MuJoCo's, both from the same robot description.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>

#include "allocation_counter.hpp"
#include "serl_controllers/impedance_law.hpp"
#include "serl_controllers/pinocchio_model.hpp"
#include "serl_controllers/rotation.hpp"

namespace serl_controllers {
namespace {

constexpr double EQUAL = 1e-6;
const ArmNames NAMES{
  {"joint1", "joint2", "joint3", "joint4", "joint5", "joint6", "joint7"}, "link0", "link8"};

std::string description() {
  std::ifstream file(FR3_URDF);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The same arm in MuJoCo, without armature; link8 lies in the frame of link7, along its z.
class MujocoFr3 {
public:
  MujocoFr3() {
    char error[500] = "";
    model_.reset(mj_loadXML(FR3_URDF, nullptr, error, sizeof(error)));
    if (!model_) throw std::runtime_error(error);
    mju_zero(model_->dof_armature, model_->nv);
    data_.reset(mj_makeData(model_.get()));
    link7_ = mj_name2id(model_.get(), mjOBJ_BODY, "link7");
  }

  void set(const Vector7& q, const Vector7& dq) {
    Eigen::Map<Vector7> qpos(data_->qpos), qvel(data_->qvel);
    qpos = q;
    qvel = dq;
    mj_forward(model_.get(), data_.get());
  }

  Pose link8() const {
    const mjtNum* p = data_->xpos + 3 * link7_;
    const mjtNum* q = data_->xquat + 4 * link7_;
    const Quaternion turn(q[0], q[1], q[2], q[3]);
    return {Vector3(p[0], p[1], p[2]) + turn * Vector3(0, 0, 0.107), turn};
  }

  Matrix67 jacobian(const Vector3& point) const {
    Eigen::Matrix<double, 3, 7, Eigen::RowMajor> linear, angular;
    mj_jac(model_.get(), data_.get(), linear.data(), angular.data(), point.data(), link7_);
    Matrix67 both;
    both << linear, angular;
    return both;
  }

  /// Coriolis and centrifugal torque, and gravity if the model has it.
  Vector7 bias(bool gravity) {
    model_->opt.gravity[2] = gravity ? -9.81 : 0.0;
    mj_forward(model_.get(), data_.get());
    return Eigen::Map<const Vector7>(data_->qfrc_bias);
  }

  Vector7 momentum() const {
    Vector7 result;
    mj_mulM(model_.get(), data_.get(), result.data(), data_->qvel);
    return result;
  }

  /// One step under torque and a force on link8, both held; the arm carries its own weight.
  void step(const Vector7& torque, const Vector3& force) {
    const Vector3 point = link8().position;
    mju_zero(data_->qfrc_applied, 7);
    const Vector3 none = Vector3::Zero();
    mj_applyFT(
      model_.get(), data_.get(), force.data(), none.data(), point.data(), link7_,
      data_->qfrc_applied);
    Eigen::Map<Vector7>(data_->qfrc_applied) += torque;
    mj_step(model_.get(), data_.get());
  }

  Vector7 q() const { return Eigen::Map<const Vector7>(data_->qpos); }
  Vector7 dq() const { return Eigen::Map<const Vector7>(data_->qvel); }
  mjModel* model() { return model_.get(); }

private:
  struct Delete {
    void operator()(mjModel* model) const { mj_deleteModel(model); }
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  std::unique_ptr<mjModel, Delete> model_;
  std::unique_ptr<mjData, Delete> data_;
  int link7_;
};

class PinocchioModelTest : public ::testing::Test {
protected:
  std::unique_ptr<ArmModel> model_ = make_pinocchio_model(description(), NAMES);
  MujocoFr3 mujoco_;
  std::mt19937 random_{5};

  Vector7 draw(double largest) {
    std::uniform_real_distribution<double> value(-largest, largest);
    Vector7 result;
    for (auto& element : result) element = value(random_);
    return result;
  }

  /// A state anywhere, the same in both models.
  ArmState draw_state() {
    ArmState state;
    state.q = draw(2.5);
    state.dq = draw(2.0);
    model_->update(state);
    mujoco_.set(state.q, state.dq);
    return state;
  }
};

TEST_F(PinocchioModelTest, pose_and_jacobian_are_mujocos) {
  for (int i = 0; i < 50; ++i) {
    const ArmState state = draw_state();
    const Pose expected = mujoco_.link8();
    EXPECT_LT((state.T_base_ee.position - expected.position).norm(), EQUAL);
    EXPECT_LT(rotation_between(state.T_base_ee.orientation, expected.orientation).norm(), EQUAL);
    EXPECT_LT((state.jacobian - mujoco_.jacobian(expected.position)).cwiseAbs().maxCoeff(), EQUAL);
  }
}

TEST_F(PinocchioModelTest, coriolis_gravity_and_momentum_are_mujocos) {
  for (int i = 0; i < 50; ++i) {
    const ArmState state = draw_state();
    const Momentum momentum = model_->momentum(state);
    EXPECT_LT((state.coriolis - mujoco_.bias(false)).cwiseAbs().maxCoeff(), EQUAL);
    const Vector7 both = state.coriolis + momentum.gravity;
    EXPECT_LT((both - mujoco_.bias(true)).cwiseAbs().maxCoeff(), EQUAL);
    EXPECT_LT((momentum.momentum - mujoco_.momentum()).cwiseAbs().maxCoeff(), EQUAL);
  }
}

/// d(M dq)/dt = drift + torque: what the observer rests on, by differences along the motion.
TEST_F(PinocchioModelTest, drift_is_what_changes_the_momentum_of_a_falling_arm) {
  constexpr double STEP = 1e-6;
  ArmState state = draw_state();
  const Momentum before = model_->momentum(state);
  mujoco_.model()->opt.timestep = STEP;
  mju_zero(mujoco_.model()->dof_damping, 7);
  mju_zero(mujoco_.model()->dof_frictionloss, 7);
  mujoco_.model()->opt.disableflags |= mjDSBL_CONSTRAINT;
  mujoco_.step(Vector7::Zero(), Vector3::Zero());
  state.q = mujoco_.q();
  state.dq = mujoco_.dq();
  model_->update(state);
  const Vector7 rate = (model_->momentum(state).momentum - before.momentum) / STEP;
  EXPECT_LT((rate - before.drift).cwiseAbs().maxCoeff(), 1e-2);
}

TEST_F(PinocchioModelTest, a_push_on_a_held_arm_is_estimated_from_its_torque) {
  mju_zero(mujoco_.model()->dof_damping, 7);
  mju_zero(mujoco_.model()->dof_frictionloss, 7);
  mujoco_.model()->opt.timestep = 1e-3;
  for (int i = 0; i < 7; ++i) mujoco_.model()->dof_armature[i] = 0.1;  // of the motors
  ArmState state;
  state.q << 0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785;
  mujoco_.set(state.q, state.dq);
  model_->update(state);
  ImpedanceLaw law(LawParameters(), model_->joint_range());
  law.reset(state);
  ExternalTorque observer(0.05);
  observer.reset(model_->momentum(state));
  const Vector3 push(4.0, -3.0, 8.0);  // [N]
  for (int i = 0; i < 2000; ++i) {
    const Vector7 torque = law.update(state, 1e-3) + model_->momentum(state).gravity;
    mujoco_.step(torque, push);
    state.q = mujoco_.q();
    state.dq = mujoco_.dq();
    model_->update(state);
    observer.update(model_->momentum(state), torque, 1e-3);
  }
  const Vector6 wrench = wrench_of_torque(state.jacobian, observer.torque());
  EXPECT_LT((wrench.head<3>() - push).norm(), 0.2) << wrench.transpose();
  EXPECT_LT(wrench.tail<3>().norm(), 0.1) << wrench.transpose();
}

TEST_F(PinocchioModelTest, range_and_fixed_frames_are_those_of_the_description) {
  const JointRange range = model_->joint_range();
  EXPECT_DOUBLE_EQ(range.lower[6], -3.0508);
  EXPECT_DOUBLE_EQ(range.upper[6], 3.0508);
  ASSERT_TRUE(model_->fixed_frame("base"));
  EXPECT_TRUE(model_->fixed_frame("base")->position.isZero());
  EXPECT_FALSE(model_->fixed_frame("link3"));
  EXPECT_FALSE(model_->fixed_frame("camera"));
}

TEST_F(PinocchioModelTest, does_not_allocate) {
  ArmState state = draw_state();
  const AllocationCounter counter;
  for (int i = 0; i < 10; ++i) {
    model_->update(state);
    model_->momentum(state);
  }
  EXPECT_EQ(counter.count(), 0);
}

TEST(PinocchioModelRefusal, names_what_the_description_lacks) {
  const auto refuses = [](const std::string& urdf, const ArmNames& names, const char* text) {
    try {
      make_pinocchio_model(urdf, names);
      ADD_FAILURE() << "taken in spite of " << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  const auto with = [](auto change) {
    ArmNames names = NAMES;
    change(names);
    return names;
  };
  refuses("", NAMES, "robot description");
  refuses(description(), with([](auto& n) { n.joints[2] = "elbow"; }), "'elbow'");
  refuses(description(), with([](auto& n) { n.joints[2] = "joint1"; }), "twice");
  refuses(description(), with([](auto& n) { n.joints.pop_back(); }), "got 6");
  refuses(description(), with([](auto& n) { n.base_frame = "link4"; }), "moves with the arm");
  refuses(description(), with([](auto& n) { n.end_effector_frame = "tcp"; }), "'tcp'");
  refuses(description(), with([](auto& n) { n.end_effector_frame = "link5"; }), "'link5'");
}

}  // namespace
}  // namespace serl_controllers
