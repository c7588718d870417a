// The momentum observer on masses whose motion is known.
#include <gtest/gtest.h>

#include <cmath>

#include "law_states.hpp"
#include "serl_controllers/external_torque.hpp"

namespace serl_controllers {
namespace {

TEST(ExternalTorque, sees_a_constant_push_through_its_filter) {
  const Vector7 push = Vector7::LinSpaced(-3.0, 3.0);
  const Vector7 joint_torque = Vector7::Constant(0.7);
  ExternalTorque observer(0.05);
  Momentum mass;  // of 1 kg m^2 per joint, without gravity
  observer.reset(mass);
  for (int i = 1; i <= 200; ++i) {
    mass.momentum += DT * (push + joint_torque);
    observer.update(mass, joint_torque, DT);
    const double share = 1.0 - std::exp(-i * DT / 0.05);
    EXPECT_TRUE(observer.torque().isApprox(share * push, 0.02)) << i;
  }
}

TEST(ExternalTorque, is_zero_for_an_arm_that_only_carries_its_weight) {
  ExternalTorque observer(0.05);
  Momentum weight;
  weight.gravity.setConstant(4.0);
  weight.drift = -weight.gravity;
  observer.reset(weight);
  for (int i = 0; i < 100; ++i) observer.update(weight, weight.gravity, DT);
  EXPECT_EQ(observer.torque(), Vector7::Zero());
}

TEST(ExternalTorque, stays_finite_when_the_time_step_is_long) {
  ExternalTorque observer(0.01);
  Momentum mass;
  observer.reset(mass);
  for (int i = 0; i < 100; ++i) {
    mass.momentum.array() += 1.0;
    observer.update(mass, Vector7::Zero(), 1.0);
  }
  EXPECT_TRUE(observer.torque().isApprox(Vector7::Ones(), 0.02));
}

TEST(WrenchOfTorque, inverts_the_jacobian_transpose) {
  std::srand(3);
  const Matrix67 jacobian = Matrix67::Random();
  const Vector6 wrench = Vector6::LinSpaced(-10.0, 10.0);
  const Vector7 torque = jacobian.transpose() * wrench;
  EXPECT_TRUE(wrench_of_torque(jacobian, torque).isApprox(wrench, 0.01));
}

TEST(WrenchOfTorque, is_bounded_at_a_singularity) {
  EXPECT_TRUE(wrench_of_torque(Matrix67::Zero(), Vector7::Ones()).allFinite());
}

}  // namespace
}  // namespace serl_controllers
