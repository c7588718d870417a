// Times one tick of the impedance law: a state that moves, commands at 10 Hz, every term at work.
#include <cmath>
#include <cstdlib>

#include "serl_controllers/impedance_law.hpp"
#include "tick_times.hpp"

int main() {
  using namespace serl_controllers;
  constexpr double DT = 1e-3;  // [s]
  LawParameters parameters;
  parameters.integral_gain.setConstant(1.0);
  parameters.box.emplace();
  parameters.box->lower.setConstant(-0.05);
  parameters.box->upper.setConstant(0.05);
  const JointRange range{Vector7::Constant(-1.0), Vector7::Constant(1.0)};

  std::srand(1);
  ArmState state;
  state.jacobian.setRandom();
  state.coriolis.setRandom();
  ImpedanceLaw law(parameters, range);
  law.reset(state);
  int tick = 0;
  print_tick_times("law", 200000, [&] {
    state.q.setConstant(std::sin(1e-3 * tick));
    state.dq.setConstant(0.1 * std::cos(1e-3 * tick));
    if (tick++ % 100 == 0) law.set_target({Vector3::Constant(0.1), Quaternion::Identity()});
    law.update(state, DT);
  });
  return 0;
}
