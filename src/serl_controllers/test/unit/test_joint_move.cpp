// The joint move: where it ends, how fast it goes, how it brakes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "law_states.hpp"
#include "serl_controllers/joint_move.hpp"

namespace serl_controllers {
namespace {

const Vector7 FROM{0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785};
const Vector7 TO{0.4, -0.1, 0.2, -1.5, 0.3, 1.8, -0.2};
constexpr double VELOCITY = 0.5;  // [rad/s]

JointMove begun() {
  JointMove move;
  EXPECT_TRUE(move.start(FROM, TO, VELOCITY));
  return move;
}

TEST(JointMove, starts_and_ends_at_rest_where_it_shall) {
  JointMove move = begun();
  EXPECT_LT((move.update(1e-6).q - FROM).norm(), 1e-9);
  while (move.moving()) move.update(DT);
  EXPECT_TRUE(move.setpoint().q.isApprox(TO, 1e-12));
  EXPECT_EQ(move.setpoint().dq, Vector7::Zero());
  EXPECT_FALSE(move.cancelled());
  EXPECT_DOUBLE_EQ(move.progress(), 1.0);
}

TEST(JointMove, the_fastest_joint_reaches_its_velocity_in_the_middle) {
  JointMove move = begun();
  EXPECT_DOUBLE_EQ(move.duration(), 15.0 / 8.0 * 0.985 / VELOCITY);
  double fastest = 0.0;
  while (move.moving()) fastest = std::max(fastest, move.update(DT).dq.cwiseAbs().maxCoeff());
  EXPECT_LE(fastest, VELOCITY + 1e-12);
  EXPECT_NEAR(fastest, VELOCITY, 1e-5);
}

TEST(JointMove, the_velocity_is_the_change_of_the_position) {
  JointMove move = begun();
  Vector7 before = FROM;
  double off = 0.0;
  for (int i = 0; move.moving(); ++i) {
    if (i == 900) move.cancel();
    const JointSetpoint setpoint = move.update(DT);
    off = std::max(off, ((setpoint.q - before) / DT - setpoint.dq).cwiseAbs().maxCoeff());
    before = setpoint.q;
  }
  EXPECT_LT(off, 0.004);  // half a tick of acceleration
}

TEST(JointMove, a_cancel_brakes_on_the_line_within_its_time_and_never_speeds_up_past_the_limit) {
  JointMove move = begun();
  for (int i = 0; i < 1000; ++i) move.update(DT);
  const Vector7 there = move.setpoint().q;
  move.cancel();
  Vector7 dq = move.setpoint().dq;
  int ticks = 0;
  while (move.moving()) {
    const JointSetpoint setpoint = move.update(DT);
    EXPECT_LE(setpoint.dq.cwiseAbs().maxCoeff(), VELOCITY + 1e-12);
    EXPECT_LT((setpoint.dq - dq).cwiseAbs().maxCoeff(), 0.005);  // [rad/s per tick]
    dq = setpoint.dq;
    ++ticks;
  }
  EXPECT_NEAR(ticks * DT, JointMove::STOP_TIME, DT);
  EXPECT_TRUE(move.cancelled());
  EXPECT_LT((move.setpoint().q - there).cwiseAbs().maxCoeff(), VELOCITY * JointMove::STOP_TIME);
  const double share = (move.setpoint().q[0] - FROM[0]) / (TO[0] - FROM[0]);
  EXPECT_TRUE(move.setpoint().q.isApprox(FROM + share * (TO - FROM), 1e-9));
}

TEST(JointMove, refuses_what_it_cannot_follow_and_goes_on) {
  JointMove move;
  constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
  Vector7 bad = TO;
  bad[2] = NOT_A_NUMBER;
  for (const double velocity : {0.0, -1.0, std::numeric_limits<double>::infinity(), NOT_A_NUMBER}) {
    EXPECT_FALSE(move.start(FROM, TO, velocity));
  }
  EXPECT_FALSE(move.start(FROM, bad, VELOCITY));
  EXPECT_FALSE(move.start(bad, TO, VELOCITY));
  EXPECT_FALSE(move.moving());
  ASSERT_TRUE(move.start(FROM, TO, VELOCITY));
  EXPECT_FALSE(move.start(FROM, FROM, VELOCITY));
}

TEST(JointMove, a_short_way_is_not_jerked) {
  JointMove move;
  ASSERT_TRUE(move.start(FROM, FROM + Vector7::Constant(0.05), 2.0));
  Vector7 dq = Vector7::Zero();
  double hardest = 0.0;
  while (move.moving()) {
    const JointSetpoint setpoint = move.update(DT);
    hardest = std::max(hardest, (setpoint.dq - dq).cwiseAbs().maxCoeff() / DT);
    dq = setpoint.dq;
  }
  EXPECT_NEAR(hardest, JointMove::MAX_ACCELERATION, 0.01);
}

TEST(JointMove, going_nowhere_ends_at_once) {
  JointMove move;
  ASSERT_TRUE(move.start(FROM, FROM, VELOCITY));
  EXPECT_EQ(move.update(DT).q, FROM);
  EXPECT_FALSE(move.moving());
}

TEST(JointTorque, is_a_clipped_spring_and_a_damper) {
  ArmState state;
  state.dq[1] = 0.1;
  state.coriolis[6] = 0.25;
  JointSetpoint setpoint;
  setpoint.q << 0.01, 0, 0, 1.0, 0, 0, 0;
  setpoint.dq[1] = 0.3;
  Vector7 expected;
  expected << 6.0, 10.0, 0, 30.0, 0, 0, 0.25;
  EXPECT_TRUE(joint_torque(state, setpoint, JointGains()).isApprox(expected, 1e-12));
}

}  // namespace
}  // namespace serl_controllers
