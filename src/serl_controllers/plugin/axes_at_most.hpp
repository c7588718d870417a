// A validator for parameters of six axes: other bounds for translation than for rotation.
#pragma once

#include <cmath>
#include <rclcpp/parameter.hpp>
#include <rsl/parameter_validators.hpp>  // tl::expected, whose header has moved over time
#include <sstream>
#include <string>

namespace serl_controllers {

/// Values must be finite, at least 0, and at most `translation` (0-2) or `rotation` (3-5).
/// Its name has no "bounds": that word would make the two numbers the ends of a range.
inline tl::expected<void, std::string> axes_at_most(
  const rclcpp::Parameter& parameter, double translation, double rotation) {
  const auto& values = parameter.as_double_array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double highest = i < 3 ? translation : rotation;
    if (std::isfinite(values[i]) && values[i] >= 0.0 && values[i] <= highest) continue;
    std::ostringstream text;
    text << parameter.get_name() << "[" << i << "] is " << values[i] << ", expected 0 to "
         << highest;
    return tl::make_unexpected(text.str());
  }
  return {};
}

}  // namespace serl_controllers
