// Times the controller's whole update: read, model, law, write, observe, publish.
#include <cmath>
#include <cstdio>

#include "plugin_bench.hpp"
#include "tick_times.hpp"

int main(int argc, char** argv) {
  using namespace serl_controllers;
  rclcpp::init(argc, argv);
  if (argc < 2) {
    std::fputs("usage: plugin_benchmark FR3.urdf\n", stderr);
    return 2;
  }
  {
    PluginBench bench(argv[1]);
    if (!bench.start()) return 1;
    int tick = 0;
    print_tick_times("plugin update", 50000, [&] {
      bench.set_positions(1e-3 * std::sin(0.01 * tick));
      bench.set_velocities(1e-2 * std::cos(0.01 * tick++));
      bench.update();
    });
  }
  rclcpp::shutdown();
  return 0;
}
