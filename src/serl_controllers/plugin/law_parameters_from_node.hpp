// The law's parameters from a node's.
#pragma once

#include <functional>
#include <rclcpp/parameter.hpp>
#include <string>

#include "serl_controllers/law_parameters.hpp"

namespace serl_controllers {

/// Value of a parameter by its full name.
using ParameterLookup = std::function<rclcpp::Parameter(const std::string&)>;

/// The parameters of the active compliance set; all sets are validated. Not for the loop.
/// \throws std::invalid_argument naming what is wrong
LawParameters law_parameters_from(const ParameterLookup& lookup);

}  // namespace serl_controllers
