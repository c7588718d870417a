#include "law_parameters_from_node.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

#include "serl_controllers/law_parameter_fields.hpp"

namespace serl_controllers {
namespace {

void assign(const rclcpp::Parameter& parameter, double& member) { member = parameter.as_double(); }

template <int N>
void assign(const rclcpp::Parameter& parameter, Eigen::Matrix<double, N, 1>& member) {
  const auto& values = parameter.as_double_array();
  if (values.size() != static_cast<std::size_t>(N)) {
    throw std::invalid_argument(
      parameter.get_name() + " has " + std::to_string(values.size()) + " values, expected " +
      std::to_string(N));
  }
  member = Eigen::Map<const Eigen::Matrix<double, N, 1>>(values.data());
}

std::optional<WorkspaceBox> box_from(const ParameterLookup& lookup) {
  if (!lookup("box.enabled").as_bool()) return std::nullopt;
  WorkspaceBox box;
  Eigen::Vector4d xyzw;
  assign(lookup("box.position"), box.reference.position);
  assign(lookup("box.quaternion"), xyzw);
  assign(lookup("box.lower"), box.lower);
  assign(lookup("box.upper"), box.upper);
  box.reference.orientation.coeffs() = xyzw;
  return box;
}

}  // namespace

LawParameters law_parameters_from(const ParameterLookup& lookup) {
  LawParameters shared;
  for_each_safety_field(
    shared, [&](const char* name, auto& member) { assign(lookup(name), member); });
  shared.box = box_from(lookup);

  const auto active = lookup("active_compliance").as_string();
  const auto sets = lookup("compliance_sets").as_string_array();
  std::optional<LawParameters> chosen;
  for (const auto& set : sets) {
    LawParameters parameters = shared;
    for_each_compliance_field(parameters, [&](const char* name, auto& member) {
      assign(lookup("compliance." + set + "." + name), member);
    });
    try {
      validate(parameters);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("compliance set '" + set + "': " + error.what());
    }
    if (set == active) chosen = parameters;
  }
  if (!chosen) {
    std::string known;
    for (const auto& set : sets) known += (known.empty() ? "" : ", ") + set;
    throw std::invalid_argument("active_compliance is '" + active + "', expected one of: " + known);
  }
  return *chosen;
}

}  // namespace serl_controllers
