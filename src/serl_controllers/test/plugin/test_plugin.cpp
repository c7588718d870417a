// The controller's lifecycle and loop, without a controller_manager.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "allocation_counter.hpp"
#include "plugin_bench.hpp"

namespace serl_controllers {
namespace {

using controller_interface::return_type;

class PluginTest : public ::testing::Test {
protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  PluginBench bench_{FR3_URDF};

  double largest_torque() {
    double largest = 0.0;
    for (std::size_t i = 0; i < 7; ++i) largest = std::max(largest, std::abs(bench_.torque(i)));
    return largest;
  }
};

TEST_F(PluginTest, claims_effort_and_reads_position_velocity_effort) {
  ASSERT_TRUE(bench_.start());
  const auto commands = bench_.controller().command_interface_configuration().names;
  const auto states = bench_.controller().state_interface_configuration().names;
  ASSERT_EQ(commands.size(), 7U);
  ASSERT_EQ(states.size(), 21U);
  EXPECT_EQ(commands[6], "joint7/effort");
  EXPECT_EQ(states[0], "joint1/position");
  EXPECT_EQ(states[13], "joint7/velocity");
  EXPECT_EQ(states[20], "joint7/effort");
}

TEST_F(PluginTest, gives_no_torque_at_rest_where_it_was_activated) {
  ASSERT_TRUE(bench_.start());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(bench_.update(), return_type::OK);
    EXPECT_LT(largest_torque(), 1e-9);
  }
}

TEST_F(PluginTest, pulls_back_when_it_is_pushed_away_by_the_rate_limit_at_first) {
  ASSERT_TRUE(bench_.start());
  bench_.set_positions(0.01);
  bench_.update();
  EXPECT_GT(largest_torque(), 0.0);
  EXPECT_LE(largest_torque(), 1.0 + 1e-12);
  for (int i = 0; i < 100; ++i) bench_.update();
  EXPECT_GT(largest_torque(), 2.0);
}

TEST_F(PluginTest, a_state_that_is_not_finite_fades_to_no_torque) {
  ASSERT_TRUE(bench_.start());
  bench_.set_positions(0.01);
  for (int i = 0; i < 10; ++i) bench_.update();
  bench_.set_state(9, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(bench_.update(), return_type::OK);
    ASSERT_TRUE(std::isfinite(largest_torque()));
  }
  EXPECT_LT(largest_torque(), 1e-9);
}

TEST_F(PluginTest, leaves_no_torque_behind_when_it_is_deactivated) {
  ASSERT_TRUE(bench_.start());
  bench_.set_positions(0.01);
  for (int i = 0; i < 10; ++i) bench_.update();
  EXPECT_EQ(bench_.controller().get_node()->deactivate().label(), "inactive");
  EXPECT_EQ(largest_torque(), 0.0);
}

TEST_F(PluginTest, refuses_to_start_without_a_sound_configuration) {
  bench_.controller().get_node()->set_parameter({"active_compliance", "softest"});
  EXPECT_FALSE(bench_.start());
  EXPECT_EQ(bench_.controller().get_lifecycle_state().label(), "unconfigured");
  bench_.controller().get_node()->set_parameter({"active_compliance", "compliance"});
  EXPECT_TRUE(bench_.start());
}

TEST_F(PluginTest, the_loop_does_not_allocate) {
  ASSERT_TRUE(bench_.start());
  for (int i = 0; i < 100; ++i) bench_.update();  // what the publisher's first message needs
  const AllocationCounter counter;
  for (int i = 0; i < 1000; ++i) {
    bench_.set_positions(1e-3 * std::sin(0.01 * i));
    bench_.set_velocities(1e-2 * std::cos(0.01 * i));
    bench_.update();
  }
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace serl_controllers
