// The spring before the ends of the joints' travel.
#include <gtest/gtest.h>

#include <limits>

#include "law_states.hpp"
#include "serl_controllers/joint_range.hpp"

namespace serl_controllers {
namespace {

const JointRange RANGE{Vector7::Constant(-1.0), Vector7::Constant(2.0)};

TEST(JointLimitTorque, is_zero_away_from_the_ends_and_pushes_back_near_them) {
  Vector7 q = Vector7::Zero();
  q[1] = -0.95;
  q[2] = 1.9;
  q[3] = 1.96;
  q[4] = 2.1;
  Vector7 expected = Vector7::Zero();
  expected[1] = 5.0;   // half of the margin of 0.1 rad, at 100 N m/rad
  expected[3] = -6.0;  // 0.06 rad inside the margin
  expected[4] = -20.0;
  EXPECT_TRUE(joint_limit_torque(q, RANGE, 0.1, 100.0).isApprox(expected, 1e-9));
}

TEST(JointLimitTorque, does_not_act_on_a_joint_without_ends) {
  const Vector7 infinite = Vector7::Constant(std::numeric_limits<double>::infinity());
  const Vector7 q = Vector7::Constant(1e3);
  EXPECT_EQ(joint_limit_torque(q, {-infinite, infinite}, 0.1, 100.0), Vector7::Zero());
}

TEST(JointLimitTorque, is_part_of_the_law_when_it_knows_the_range) {
  ArmState state = cartesian_state();
  state.q[0] = 1.95;
  ImpedanceLaw free(plain_parameters()), limited(plain_parameters(), RANGE);
  free.reset(state);
  limited.reset(state);
  EXPECT_EQ(free.update(state, DT), Vector7::Zero());
  EXPECT_NEAR(limited.update(state, DT)[0], -5.0, 1e-9);
}

TEST(JointLimitTorque, comes_in_at_the_rate_limit) {
  LawParameters parameters;
  parameters.nullspace_stiffness = 0.0;
  ArmState state = cartesian_state();
  state.q[0] = 2.0;
  ImpedanceLaw law(parameters, RANGE);
  law.reset(state);
  EXPECT_NEAR(law.update(state, DT)[0], -1.0, 1e-9);
  EXPECT_NEAR(law.update(state, DT)[0], -2.0, 1e-9);
}

}  // namespace
}  // namespace serl_controllers
