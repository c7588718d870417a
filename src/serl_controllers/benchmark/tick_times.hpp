// What a tick costs: its times one by one, and the heap allocations of all.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "allocation_counter.hpp"

namespace serl_controllers {

/// Runs `tick` so many times, after a tenth as many that do not count, and prints one line of
/// JSON: name, median_us, p999_us, max_us, allocations.
template <typename Tick>
void print_tick_times(const char* name, std::size_t ticks, Tick&& tick) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times(ticks);
  for (std::size_t i = 0; i < ticks / 10; ++i) tick();
  long allocations = 0;
  {
    const AllocationCounter counter;
    for (double& time : times) {
      const auto start = Clock::now();
      tick();
      time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    }
    allocations = counter.count();
  }
  std::sort(times.begin(), times.end());
  std::printf(
    R"({"name": "%s", "ticks": %zu, "median_us": %.3f, "p999_us": %.3f, "max_us": %.3f, )"
    R"("allocations": %ld})"
    "\n",
    name, ticks, times[ticks / 2], times[ticks * 999 / 1000], times.back(), allocations);
}

}  // namespace serl_controllers
