#include "simulated_arm.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "serl_controllers/first_order.hpp"
#include "tool_wrench.hpp"

namespace serl_controllers {

SimulatedArm::SimulatedArm(
  mjModel* model, mjData* data, const std::string& site, const std::vector<std::string>& joints,
  const std::vector<std::string>& actuators, const LawParameters& parameters)
  : model_(model),
    data_(data),
    arm_(model, site, joints, actuators),
    law_(parameters, arm_.joint_range()) {
  if (model_->opt.integrator == mjINT_RK4) {
    throw std::invalid_argument("integrator RK4 cannot be stepped in two halves");
  }
  model_->opt.disableflags |= mjDSBL_AUTORESET;
  reset();
}

void SimulatedArm::reset() {
  mju_zero(data_->qacc, model_->nv);  // of before; not finite after a divergence
  mju_zero(data_->qacc_warmstart, model_->nv);
  diverged_ = diverged();
  if (diverged_) {
    law_.fault();
    throw std::runtime_error("qpos or qvel is not finite");
  }
  mj_step1(model_, data_);
  arm_.read(data_, state_);
  law_.reset(state_);
  torque_.setZero();
  wrench_.setZero();
  peak_force_ = 0.0;
  saturated_ = false;
}

void SimulatedArm::step(int ticks) noexcept {
  const double dt = model_->opt.timestep;
  const double wrench_share = filter_share(dt, WRENCH_TIME_CONSTANT);
  saturated_ = false;
  diverged_ = diverged_ || diverged();
  if (diverged_) return law_.fault();
  if (ticks <= 0) return;
  mj_step1(model_, data_);  // whatever was set from outside since the last call counts
  arm_.read(data_, state_);
  for (int i = 0; i < ticks && !diverged_; ++i) tick(dt, wrench_share);
}

/// Starts and ends with positions and velocities computed; the same as mj_step, cut elsewhere.
void SimulatedArm::tick(double dt, double wrench_share) noexcept {
  torque_ = law_.update(state_, dt);
  saturated_ = saturated_ || status().torque_saturated;
  arm_.write(data_, torque_);
  mj_step2(model_, data_);
  diverged_ = diverged();
  if (diverged_) return law_.fault();
  approach(wrench_, tool_wrench(model_, data_, arm_), wrench_share);
  peak_force_ = std::max(peak_force_, wrench_.head<3>().norm());
  mj_step1(model_, data_);
  arm_.read(data_, state_);
}

bool SimulatedArm::diverged() const noexcept {
  const auto bad = [](mjtNum value) { return !(std::abs(value) < mjMAXVAL); };
  return std::any_of(data_->qacc, data_->qacc + model_->nv, bad) ||
         std::any_of(data_->qvel, data_->qvel + model_->nv, bad) ||
         std::any_of(data_->qpos, data_->qpos + model_->nq, bad);
}

}  // namespace serl_controllers
