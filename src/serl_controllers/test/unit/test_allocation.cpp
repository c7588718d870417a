// The loop does not allocate: malloc is counted while the law runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "law_states.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace {
bool counting = false;
int allocations = 0;
}  // namespace

// glibc's own entry points stay reachable under these names.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

extern "C" void* malloc(std::size_t size) {
  if (counting) ++allocations;
  return __libc_malloc(size);
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (counting) ++allocations;
  return __libc_memalign(alignment, size);
}

namespace serl_controllers {
namespace {

TEST(Allocation, is_counted) {
  counting = true;
  void* volatile probe = std::malloc(64);
  counting = false;
  std::free(probe);
  EXPECT_EQ(allocations, 1);
}

TEST(Allocation, test_d24_no_method_of_the_law_allocates) {
  LawParameters parameters;
  parameters.box.emplace();
  std::srand(4);
  ArmState state = cartesian_state();
  state.jacobian.setRandom();
  ArmState broken = state;
  broken.q[0] = std::numeric_limits<double>::quiet_NaN();
  ImpedanceLaw law(parameters);

  allocations = 0;
  counting = true;
  law.reset(state);
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) law.set_target(pose_at(0.01, 0.0, 0.1));
    if (i == 300) law.set_parameters(parameters);
    if (i == 400) law.set_target(broken.T_base_ee);
    law.update(i == 500 ? broken : state, DT);
    if (i == 510) law.recover();
  }
  counting = false;
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace serl_controllers
