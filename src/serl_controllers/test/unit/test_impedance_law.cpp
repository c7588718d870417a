// The law's torque against closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "law_states.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace serl_controllers {
namespace {

TEST(ImpedanceLaw, test_d24_gives_no_torque_before_it_is_started) {
  ImpedanceLaw law{LawParameters()};
  EXPECT_EQ(law.status().mode, Mode::IDLE);
  EXPECT_FALSE(law.set_target(Pose()));
  EXPECT_EQ(law.update(cartesian_state(pose_at(1, 2, 3)), DT), Vector7::Zero());
}

TEST(ImpedanceLaw, takes_the_current_pose_as_target_and_rests_there) {
  const ArmState state = cartesian_state(pose_at(0.5, 0.1, 0.3, {3.1, 0.0, 0.2}));
  ImpedanceLaw law = started(LawParameters(), state);
  for (int i = 0; i < 100; ++i) EXPECT_LT(law.update(state, DT).norm(), 1e-9);
  EXPECT_EQ(law.status().mode, Mode::IMPEDANCE);
}

TEST(ImpedanceLaw, static_force_is_stiffness_times_error) {
  ImpedanceLaw law = started(plain_parameters(), cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.001, -0.002, 0.003)));
  Vector7 expected = Vector7::Zero();
  expected.head<3>() << 2.0, -4.0, 6.0;  // 2000 N/m
  EXPECT_TRUE(law.update(cartesian_state(), DT).isApprox(expected, 1e-12));
}

TEST(ImpedanceLaw, static_torque_is_stiffness_times_rotation_vector) {
  const Vector3 rotation(0.02, -0.03, 0.05);
  ImpedanceLaw law = started(plain_parameters(), cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0, 0, 0, rotation)));
  Vector7 expected = Vector7::Zero();
  expected.segment<3>(3) = 75.0 * rotation;
  EXPECT_TRUE(law.update(cartesian_state(), DT).isApprox(expected, 1e-12));
}

TEST(ImpedanceLaw, rotation_error_is_in_the_base_frame) {
  const Pose pose = pose_at(0, 0, 0, {M_PI, 0.0, 0.0});  // the tool points down
  Pose turned = pose;
  turned.orientation = quaternion_from_rotation_vector({0, 0, 0.01}) * pose.orientation;
  ImpedanceLaw law = started(plain_parameters(), cartesian_state(pose));
  ASSERT_TRUE(law.set_target(turned));
  Vector7 expected = Vector7::Zero();
  expected[5] = 0.75;  // about the base's z, not the tool's
  EXPECT_TRUE(law.update(cartesian_state(pose), DT).isApprox(expected, 1e-9));
}

TEST(ImpedanceLaw, error_is_clipped_per_axis_and_direction) {
  LawParameters parameters = plain_parameters();
  parameters.clip_positive << 0.0025, 0.0015, 0.002, 0.05, 0.014, 0.02;
  parameters.clip_negative << 0.002, 0.002, 0.003, 0.05, 0.014, 0.02;
  ImpedanceLaw law = started(parameters, cartesian_state());

  ASSERT_TRUE(law.set_target(pose_at(0.0, 0.0, -0.1, {0.5, 0.0, 0.0})));  // down: error > 0
  Vector7 torque = law.update(cartesian_state(), DT);
  EXPECT_NEAR(torque[2], -2000 * 0.002, 1e-12);
  EXPECT_NEAR(torque[3], 75 * 0.05, 1e-12);
  const std::array<bool, 6> expected{false, false, true, true, false, false};
  EXPECT_EQ(law.status().error_clipped, expected);

  ASSERT_TRUE(law.set_target(pose_at(0.0, 0.0, 0.1)));  // up: error < 0
  EXPECT_NEAR(law.update(cartesian_state(), DT)[2], 2000 * 0.003, 1e-12);
}

TEST(ImpedanceLaw, damps_the_velocity_and_adds_coriolis) {
  ArmState state = cartesian_state();
  state.dq << 0.1, 0.0, 0.0, 0.0, 0.0, 0.2, 0.0;
  state.coriolis << 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.7;
  ImpedanceLaw law = started(plain_parameters(), state);
  Vector7 expected;
  expected << -8.9, 0.5, 0.0, 0.0, 0.0, -1.4, 0.7;
  EXPECT_TRUE(law.update(state, DT).isApprox(expected, 1e-12));
}

TEST(ImpedanceLaw, takes_power_out_of_a_moving_arm_at_its_target) {
  LawParameters parameters = plain_parameters();
  parameters.nullspace_stiffness = 0.2;
  ArmState state = cartesian_state();
  std::srand(1);
  for (int i = 0; i < 500; ++i) {
    state.jacobian.setRandom();
    state.dq.setRandom();
    ImpedanceLaw law = started(parameters, state);  // on target
    EXPECT_LT(law.update(state, DT).dot(state.dq), 0.0);
  }
}

TEST(ImpedanceLaw, q_and_minus_q_give_the_same_torque) {
  const ArmState state = cartesian_state(pose_at(0, 0, 0, {3.13, 0.0, 0.0}));
  ArmState negated = state;
  negated.T_base_ee.orientation.coeffs() *= -1.0;
  Pose target = pose_at(0, 0, 0, {-3.10, 0.01, 0.02});
  Pose negated_target = target;
  negated_target.orientation.coeffs() *= -1.0;
  ImpedanceLaw a = started(LawParameters(), state);
  ImpedanceLaw b = started(LawParameters(), negated);
  ASSERT_TRUE(a.set_target(target));
  ASSERT_TRUE(b.set_target(negated_target));
  for (int i = 0; i < 50; ++i) {
    const Vector7 torque = a.update(i % 2 ? state : negated, DT);
    EXPECT_TRUE(torque.isApprox(b.update(i % 3 ? state : negated, DT), 1e-9));
    EXPECT_GT(torque[3], 0.0);  // the short way: 0.053 rad forward, not 6.23 back
  }
}

TEST(ImpedanceLaw, torque_changes_by_at_most_the_rate_limit_per_tick) {
  LawParameters parameters = plain_parameters();
  parameters.torque_rate_limit = 1.0;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.005, 0, 0)));  // 10 N
  for (int i = 1; i <= 10; ++i) {
    EXPECT_NEAR(law.update(cartesian_state(), DT)[0], i, 1e-12);
    EXPECT_EQ(law.status().torque_saturated, i < 10);
  }
  EXPECT_NEAR(law.update(cartesian_state(), DT)[0], 10.0, 1e-12);
}

TEST(ImpedanceLaw, torque_stays_within_the_joint_limits) {
  LawParameters parameters = plain_parameters();
  parameters.torque_limit = LawParameters().torque_limit;
  parameters.stiffness[4] = 300.0;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0, 0, 0, {0.0, 1.0, 0.0})));
  EXPECT_EQ(law.update(cartesian_state(), DT)[4], 12.0);  // 300 * 0.1 wanted
  EXPECT_TRUE(law.status().torque_saturated);
}

TEST(ImpedanceLaw, target_filter_is_exact_for_any_time_step) {
  for (const double dt : {1e-3, 2e-3, 0.05}) {
    LawParameters parameters = plain_parameters();
    parameters.target_time_constant = 0.2;
    ImpedanceLaw law = started(parameters, cartesian_state());
    ASSERT_TRUE(law.set_target(pose_at(0.1, 0, 0, {0.0, 0.0, 0.8})));
    for (int i = 0; i < std::lround(0.2 / dt); ++i) law.update(cartesian_state(), dt);
    const double share = 1.0 - std::exp(-1.0);
    const Pose& commanded = law.status().commanded;
    EXPECT_NEAR(commanded.position.x(), 0.1 * share, 1e-12);
    EXPECT_NEAR(rotation_vector_from_quaternion(commanded.orientation).z(), 0.8 * share, 1e-12);
  }
}

TEST(ImpedanceLaw, orientation_filter_turns_about_one_axis_the_short_way) {
  LawParameters parameters = plain_parameters();
  parameters.target_time_constant = 0.2;
  const Pose start = pose_at(0, 0, 0, {3.13, 0.0, 0.0});
  ImpedanceLaw law = started(parameters, cartesian_state(start));
  ASSERT_TRUE(law.set_target(pose_at(0, 0, 0, {-3.10, 0.0, 0.0})));
  double travelled = 0.0;
  for (int i = 0; i < 400; ++i) {
    const Quaternion before = law.status().commanded.orientation;
    law.update(cartesian_state(start), DT);
    const Vector3 turn = rotation_between(before, law.status().commanded.orientation);
    EXPECT_NEAR(turn.y(), 0.0, 1e-12);
    EXPECT_NEAR(turn.z(), 0.0, 1e-12);
    travelled += turn.x();
  }
  const double whole = 2.0 * M_PI - 3.13 - 3.10;
  EXPECT_NEAR(travelled, whole * (1.0 - std::exp(-2.0)), 1e-9);
}

TEST(ImpedanceLaw, gains_follow_their_parameters_with_the_time_constant) {
  LawParameters parameters = plain_parameters();
  parameters.gain_time_constant = 0.2;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.001, 0, 0)));
  EXPECT_NEAR(law.update(cartesian_state(), DT)[0], 2.0, 1e-12);
  parameters.stiffness[0] = 3000.0;
  law.set_parameters(parameters);
  double torque = 0.0;
  for (int i = 0; i < 200; ++i) torque = law.update(cartesian_state(), DT)[0];
  EXPECT_NEAR(torque, 0.001 * (3000.0 - 1000.0 * std::exp(-1.0)), 1e-9);
}

TEST(ImpedanceLaw, integral_grows_with_time_and_stops_at_its_limit) {
  LawParameters parameters = plain_parameters();
  parameters.integral_gain[0] = 1000.0;
  parameters.integral_limit[0] = 1.5;
  parameters.command_timeout = 100.0;
  for (const double dt : {1e-3, 4e-3}) {
    ImpedanceLaw law = started(parameters, cartesian_state());
    ASSERT_TRUE(law.set_target(pose_at(0.005, 0, 0)));
    double torque = 0.0;
    for (int i = 0; i < std::lround(0.2 / dt); ++i) torque = law.update(cartesian_state(), dt)[0];
    EXPECT_NEAR(torque, 10.0 + 1000.0 * 0.005 * 0.2, 1e-9);
    for (int i = 0; i < std::lround(0.4 / dt); ++i) torque = law.update(cartesian_state(), dt)[0];
    EXPECT_NEAR(torque, 10.0 + 1.5, 1e-9);
  }
}

TEST(ImpedanceLaw, integral_does_not_wind_up_while_the_torque_is_limited) {
  LawParameters parameters = plain_parameters();
  parameters.integral_gain[0] = 1000.0;
  parameters.torque_limit[0] = 5.0;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.005, 0, 0)));
  for (int i = 0; i < 300; ++i) law.update(cartesian_state(), DT);
  ASSERT_TRUE(law.set_target(pose_at(0.0, 0, 0)));
  // Only the first tick, before the limit was met, has been integrated.
  EXPECT_NEAR(law.update(cartesian_state(), DT)[0], 1000.0 * 0.005 * DT, 1e-9);
}

TEST(ImpedanceLaw, nullspace_torque_does_not_move_the_end_effector) {
  LawParameters parameters = plain_parameters();
  parameters.nullspace_stiffness = 10.0;
  parameters.joint1_nullspace_stiffness = 1.0;
  ArmState state = cartesian_state();
  ImpedanceLaw law = started(parameters, state);
  state.q.setConstant(0.1);
  const Vector7 torque = law.update(state, DT);
  // Joint 7 is the nullspace; of the others the damped projector leaves d^2 / (1 + d^2).
  const double leak = 0.04 / 1.04;
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(torque[i], -1.0 * leak, 1e-12);
  EXPECT_NEAR(torque[6], -1.0, 1e-12);
}

TEST(ImpedanceLaw, nullspace_damping_is_critical_and_joint_1_has_its_own_stiffness) {
  LawParameters parameters;
  parameters.torque_rate_limit = 1e6;
  parameters.damping.setZero();
  ArmState state;  // no Jacobian: the projector is the identity
  ImpedanceLaw law = started(parameters, state);
  state.q.setConstant(0.1);
  state.dq.setConstant(0.01);
  const Vector7 torque = law.update(state, DT);
  EXPECT_NEAR(torque[0], -0.2 * 100 * 0.1 - 2 * std::sqrt(0.2) * 2 * std::sqrt(100.) * 0.01, 1e-12);
  EXPECT_NEAR(torque[1], -0.2 * 0.1 - 2 * std::sqrt(0.2) * 0.01, 1e-12);
}

TEST(ImpedanceLaw, target_is_clipped_to_the_box_and_says_so) {
  LawParameters parameters = plain_parameters();
  parameters.box.emplace();
  parameters.box->lower << -0.05, -0.05, -0.005, -0.05, -0.05, -0.35;
  parameters.box->upper << 0.05, 0.05, 0.05, 0.05, 0.05, 0.35;
  ImpedanceLaw law = started(parameters, cartesian_state());
  ASSERT_TRUE(law.set_target(pose_at(0.01, 0.2, -0.1)));
  EXPECT_TRUE(law.status().target_clipped);
  law.update(cartesian_state(), DT);
  EXPECT_TRUE(law.status().commanded.position.isApprox(Vector3(0.01, 0.05, -0.005)));
  ASSERT_TRUE(law.set_target(pose_at(0.01, 0.02, 0.03)));
  EXPECT_FALSE(law.status().target_clipped);

  parameters.box->upper[0] = 0.0;  // a new box counts for the target that is there
  law.set_parameters(parameters);
  EXPECT_TRUE(law.status().target_clipped);
  law.update(cartesian_state(), DT);
  EXPECT_NEAR(law.status().commanded.position.x(), 0.0, 1e-12);
}

}  // namespace
}  // namespace serl_controllers
