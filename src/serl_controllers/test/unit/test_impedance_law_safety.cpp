// What the law does with bad input, without commands and after a fault.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "law_states.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace serl_controllers {
namespace {

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double INFINITE = std::numeric_limits<double>::infinity();

TEST(Refusal, test_d24_targets_that_are_not_finite_or_not_normalised) {
  ImpedanceLaw law = started(LawParameters(), cartesian_state());
  Pose bad_norm, nan_quaternion;
  bad_norm.orientation.coeffs() *= 1.01;
  nan_quaternion.orientation.x() = NOT_A_NUMBER;
  const Pose bad[] = {
    pose_at(NOT_A_NUMBER, 0, 0), pose_at(0, INFINITE, 0), bad_norm, nan_quaternion};
  std::uint64_t refused = 0;
  for (const Pose& target : bad) {
    EXPECT_FALSE(law.set_target(target));
    EXPECT_EQ(law.status().rejected_commands, ++refused);
  }
  EXPECT_TRUE(law.set_target(pose_at(0, 0, 0)));
  EXPECT_EQ(law.status().rejected_commands, refused);
}

TEST(Refusal, a_quaternion_within_tolerance_is_normalised) {
  LawParameters parameters = plain_parameters();
  ImpedanceLaw law = started(parameters, cartesian_state());
  Pose target = pose_at(0, 0, 0, {0.0, 0.0, 0.01});
  target.orientation.coeffs() *= 1.0005;
  ASSERT_TRUE(law.set_target(target));
  EXPECT_NEAR(law.update(cartesian_state(), DT)[5], 0.75, 1e-9);
}

TEST(Hold, a_refused_target_holds_the_measured_pose) {
  ImpedanceLaw law = started(plain_parameters(), cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.1, 0, 0)));
  const ArmState here = cartesian_state(pose_at(0.02, 0, 0));
  law.update(here, DT);
  EXPECT_FALSE(law.set_target(pose_at(NOT_A_NUMBER, 0, 0)));
  EXPECT_NEAR(law.update(here, DT).norm(), 0.0, 1e-9);
  EXPECT_EQ(law.status().mode, Mode::HOLD);
  EXPECT_TRUE(law.status().commanded.position.isApprox(here.T_base_ee.position));
}

TEST(Hold, an_old_command_holds_and_a_fresh_one_goes_on) {
  LawParameters parameters;
  parameters.command_timeout = 0.2;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.1, 0, 0)));
  const ArmState here = cartesian_state(pose_at(0.02, 0, 0));
  for (int i = 0; i < 200; ++i) {
    law.update(here, DT);
    EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
    EXPECT_NEAR(law.status().command_age, (i + 1) * DT, 1e-9);
  }
  law.update(here, DT);
  EXPECT_EQ(law.status().mode, Mode::HOLD);
  for (int i = 0; i < 3000; ++i) law.update(here, DT);
  EXPECT_TRUE(law.status().commanded.position.isApprox(here.T_base_ee.position, 1e-6));

  ASSERT_TRUE(law.set_target(pose_at(0.1, 0, 0)));
  EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
  EXPECT_EQ(law.status().command_age, 0.0);
}

TEST(Hold, test_d27_commands_once_per_timeout_do_not_drop_out) {
  LawParameters parameters;
  parameters.command_timeout = 0.1;
  ImpedanceLaw law = started(parameters, cartesian_state());
  for (int command = 0; command < 20; ++command) {
    ASSERT_TRUE(law.set_target(Pose()));
    for (int i = 0; i < 100; ++i) law.update(cartesian_state(), DT);
    EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
  }
}

TEST(Hold, torque_does_not_jump_when_a_hold_begins) {
  LawParameters parameters;
  parameters.command_timeout = 0.2;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.01, 0, 0)));
  Vector7 last = law.update(cartesian_state(), DT);
  for (int i = 0; i < 1000; ++i) {
    const Vector7 next = law.update(cartesian_state(), DT);
    // The filter of 200 ms bounds the change: 2000 N/m * 10 mm * 1 ms / 200 ms.
    EXPECT_LT((next - last).cwiseAbs().maxCoeff(), 0.1001);
    last = next;
  }
  EXPECT_LT(last.norm(), 1.0);  // the push has faded
}

TEST(Hold, stays_where_it_is_when_the_box_moves) {
  LawParameters parameters = plain_parameters();
  parameters.command_timeout = 0.01;
  const ArmState here = cartesian_state(pose_at(0.02, 0, 0));
  ImpedanceLaw law = started(parameters, here);
  for (int i = 0; i < 20; ++i) law.update(here, DT);
  ASSERT_EQ(law.status().mode, Mode::HOLD);
  parameters.box.emplace();  // a point, elsewhere
  law.set_parameters(parameters);
  EXPECT_NEAR(law.update(here, DT).norm(), 0.0, 1e-9);
}

TEST(Fault, a_state_that_is_not_finite_leaves_only_damping) {
  LawParameters parameters = plain_parameters();
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.005, 0, 0)));
  law.update(cartesian_state(), DT);
  ArmState broken = cartesian_state(pose_at(NOT_A_NUMBER, 0, 0));
  broken.dq.setConstant(0.1);
  EXPECT_TRUE(law.update(broken, DT).isApprox(Vector7::Constant(-0.5)));  // 5 N m s/rad
  EXPECT_EQ(law.status().mode, Mode::FAULT);
  broken.dq[3] = INFINITE;
  EXPECT_EQ(law.update(broken, DT), Vector7::Zero());
}

TEST(Fault, torque_fades_at_the_rate_limit) {
  LawParameters parameters = plain_parameters();
  parameters.torque_rate_limit = 1.0;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.005, 0, 0)));
  for (int i = 0; i < 20; ++i) law.update(cartesian_state(), DT);
  law.fault();
  for (int i = 9; i >= 0; --i) EXPECT_NEAR(law.update(cartesian_state(), DT)[0], i, 1e-12);
}

TEST(Fault, only_recover_ends_it_and_then_it_holds) {
  ImpedanceLaw law = started(LawParameters(), cartesian_state());
  ArmState broken = cartesian_state();
  broken.q[6] = NOT_A_NUMBER;
  law.update(broken, DT);
  const ArmState here = cartesian_state(pose_at(0.3, 0, 0));
  law.update(here, DT);
  EXPECT_EQ(law.status().mode, Mode::FAULT);
  EXPECT_FALSE(law.set_target(pose_at(0, 0, 0)));
  EXPECT_EQ(law.status().rejected_commands, 1u);

  law.recover();
  law.update(broken, DT);  // too early: asked for again later
  EXPECT_EQ(law.status().mode, Mode::FAULT);
  law.update(here, DT);
  EXPECT_EQ(law.status().mode, Mode::FAULT);
  law.recover();
  EXPECT_LT(law.update(here, DT).norm(), 1e-9);
  EXPECT_EQ(law.status().mode, Mode::HOLD);
  EXPECT_TRUE(law.set_target(pose_at(0.3, 0, 0)));
  EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
}

TEST(Fault, recover_does_nothing_when_there_is_none) {
  ImpedanceLaw law = started(LawParameters(), cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.01, 0, 0)));
  law.recover();
  law.update(cartesian_state(), DT);
  EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
  EXPECT_GT(law.status().commanded.position.x(), 0.0);
}

TEST(Fault, starting_from_a_state_that_is_not_finite_is_a_fault) {
  ArmState broken = cartesian_state();
  broken.jacobian(0, 0) = INFINITE;
  ImpedanceLaw law = started(LawParameters(), broken);
  EXPECT_EQ(law.status().mode, Mode::FAULT);
}

TEST(Finite, whatever_finite_state_and_time_step_come_in) {
  std::srand(2);
  ImpedanceLaw law = started(LawParameters(), cartesian_state());
  const double steps[] = {1e-3, 0.0, -1.0, NOT_A_NUMBER, INFINITE, 1e300};
  for (int i = 0; i < 2000; ++i) {
    ArmState state;
    const double scale = std::pow(10.0, i % 300);
    state.q = scale * Vector7::Random();
    state.dq = scale * Vector7::Random();
    state.jacobian = scale * Matrix67::Random();
    state.coriolis = scale * Vector7::Random();
    state.T_base_ee = pose_at(scale, -scale, scale, Vector3::Random() * M_PI);
    law.set_target(pose_at(-scale, scale, 0, Vector3::Random() * M_PI));
    ASSERT_TRUE(law.update(state, steps[i % 6]).allFinite());
    ASSERT_LE(law.update(state, DT).cwiseAbs().maxCoeff(), 87.0);
    if (law.status().mode == Mode::FAULT) law.recover();
  }
}

}  // namespace
}  // namespace serl_controllers
