// The loop does not allocate: malloc is counted while the law runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "allocation_counter.hpp"
#include "law_states.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace serl_controllers {
namespace {

TEST(Allocation, is_counted) {
  const AllocationCounter counter;
  void* volatile probe = std::malloc(64);
  EXPECT_EQ(counter.count(), 1);
  std::free(probe);
}

TEST(Allocation, test_d24_no_method_of_the_law_allocates) {
  LawParameters parameters;
  parameters.box.emplace();
  std::srand(4);
  ArmState state = cartesian_state();
  state.jacobian.setRandom();
  ArmState broken = state;
  broken.q[0] = std::numeric_limits<double>::quiet_NaN();
  ImpedanceLaw law(parameters, JointRange{Vector7::Zero(), Vector7::Zero()});

  const AllocationCounter counter;
  law.reset(state);
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) law.set_target(pose_at(0.01, 0.0, 0.1));
    if (i == 300) law.set_parameters(parameters);
    if (i == 400) law.set_target(broken.T_base_ee);
    law.update(i == 500 ? broken : state, DT);
    if (i == 510) law.recover();
  }
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace serl_controllers
