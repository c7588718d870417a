// Moves the joints to a configuration: smooth, velocity-limited, cancellable.
#pragma once

#include <algorithm>
#include <cmath>

#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Joint impedance while joints move; the figures of Franka's own joint impedance example.
struct JointGains {
  Vector7 stiffness{600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0};  // [N m/rad]
  Vector7 damping{50.0, 50.0, 50.0, 50.0, 20.0, 20.0, 20.0};          // [N m s/rad]
  Vector7 clip = Vector7::Constant(0.05);  // largest position error that pulls [rad]
};

/// Where the joints shall be at one instant.
struct JointSetpoint {
  Vector7 q = Vector7::Zero();   // [rad]
  Vector7 dq = Vector7::Zero();  // [rad/s]
};

/// Joint torque towards a moving setpoint, like a spring and damper whose force is bounded.
/// Real-time safe: no allocation, lock, log or throw.
/// \return [N m], without gravity: the arm adds it
inline Vector7 joint_torque(
  const ArmState& state, const JointSetpoint& setpoint, const JointGains& gains) noexcept {
  const Vector7 error = (setpoint.q - state.q).cwiseMax(-gains.clip).cwiseMin(gains.clip);
  return gains.stiffness.cwiseProduct(error) + gains.damping.cwiseProduct(setpoint.dq - state.dq) +
         state.coriolis;
}

/// All joints along a straight line to a target, in one quintic of time: velocity and
/// acceleration start and end at 0, and the fastest joint reaches the velocity it may have once,
/// or MAX_ACCELERATION where the way is too short for that.
///
/// A cancelled move brakes on the same line within STOP_TIME; the velocity never exceeds the limit.
/// Every method is real-time safe: no allocation, lock, log or throw.
class JointMove {
public:
  /// From a cancel to rest [s].
  static constexpr double STOP_TIME = 0.3;

  /// Of the fastest joint [rad/s^2].
  static constexpr double MAX_ACCELERATION = 2.0;

  /// Begins at rest at `from`.
  /// \param from, to      [rad]
  /// \param max_velocity  of the fastest joint [rad/s]; > 0
  /// \return false when refused: not finite, no velocity, or a move is under way
  bool start(const Vector7& from, const Vector7& to, double max_velocity) noexcept {
    const bool usable = from.allFinite() && to.allFinite() && std::isfinite(max_velocity);
    if (!usable || !(max_velocity > 0.0) || moving()) return false;
    from_ = from;
    way_ = to - from;
    const double longest = way_.cwiseAbs().maxCoeff();
    duration_ = std::max(
      PEAK_VELOCITY * longest / max_velocity,
      std::sqrt(PEAK_ACCELERATION * longest / MAX_ACCELERATION));
    phase_ = 0.0;
    braking_ = false;
    brake_ = 0.0;
    setpoint_.q = from;
    setpoint_.dq.setZero();
    moving_ = true;
    return true;
  }

  /// Brakes to rest; nothing if nothing moves.
  void cancel() noexcept { braking_ = braking_ || moving_; }

  /// Ends at once, for a controller that no longer follows.
  void abandon() noexcept { moving_ = false; }

  /// One tick of `dt` [s] further.
  /// \return where the joints shall be at its end
  const JointSetpoint& update(double dt) noexcept {
    if (!moving_) return setpoint_;
    const double rate = braking_ ? brake(dt) : 1.0;
    phase_ = duration_ > 0.0 ? std::min(phase_ + rate * dt / duration_, 1.0) : 1.0;
    setpoint_.q = from_ + way(phase_) * way_;
    setpoint_.dq =
      duration_ > 0.0 ? Vector7(speed(phase_) * rate / duration_ * way_) : Vector7(Vector7::Zero());
    const bool stopped = braking_ && brake_ >= STOP_TIME;
    if (phase_ >= 1.0 || stopped) {
      setpoint_.dq.setZero();
      moving_ = false;
    }
    return setpoint_;
  }

  bool moving() const noexcept { return moving_; }
  /// The last move was cancelled before its end.
  bool cancelled() const noexcept { return braking_ && phase_ < 1.0; }
  /// Share of the way that is behind, 0 .. 1.
  double progress() const noexcept { return way(phase_); }
  /// From start to end when it is not cancelled [s].
  double duration() const noexcept { return duration_; }
  const JointSetpoint& setpoint() const noexcept { return setpoint_; }

private:
  /// Of the quintic's slope, at its middle.
  static constexpr double PEAK_VELOCITY = 15.0 / 8.0;
  /// Of its curvature: 10 / sqrt(3).
  static constexpr double PEAK_ACCELERATION = 5.7735026918962573;

  static double way(double u) noexcept { return u * u * u * (10.0 + u * (6.0 * u - 15.0)); }
  static double speed(double u) noexcept { return 30.0 * u * u * (1.0 - u) * (1.0 - u); }

  /// Rate of the phase while braking, 1 .. 0: a cosine, so that the acceleration does not jump.
  double brake(double dt) noexcept {
    brake_ = std::min(brake_ + dt, STOP_TIME);
    return 0.5 * (1.0 + std::cos(M_PI * brake_ / STOP_TIME));
  }

  Vector7 from_ = Vector7::Zero();
  Vector7 way_ = Vector7::Zero();
  JointSetpoint setpoint_;
  double duration_ = 0.0;  // [s]
  double phase_ = 0.0;     // 0 .. 1
  double brake_ = 0.0;     // since the cancel [s]
  bool moving_ = false;
  bool braking_ = false;
};

}  // namespace serl_controllers
