// One value from callbacks to the control loop: the newest, once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <realtime_tools/realtime_thread_safe_box.hpp>

namespace serl_controllers {

/// \tparam T  copied without allocating
template <typename T>
class Mailbox {
public:
  /// From a callback; replaces what has not been taken. One thread at a time.
  void put(const T& value) { box_.set(Letter{++sent_, value}); }

  /// The newest value, if it has not been taken yet; a box that a callback fills at this instant
  /// is opened at the next tick. Real-time safe.
  std::optional<T> take() noexcept {
    const auto letter = box_.try_get();
    if (!letter || letter->number <= taken_) return std::nullopt;
    taken_ = letter->number;
    return letter->value;
  }

  /// Forgets what has not been taken. Real-time safe.
  void discard() noexcept { taken_ = sent_; }

private:
  struct Letter {
    std::uint64_t number = 0;
    T value{};
  };

  realtime_tools::RealtimeThreadSafeBox<Letter> box_;
  std::atomic<std::uint64_t> sent_{0};
  std::uint64_t taken_ = 0;  // of the loop
};

}  // namespace serl_controllers
