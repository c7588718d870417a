#include "parameter_conversion.hpp"

#include <nanobind/stl/array.h>

#include <array>
#include <cstddef>
#include <string>

namespace nb = nanobind;

namespace serl_controllers {
namespace {

/// Calls `visit(name, member)` for every field that has the same name in Python.
template <typename Parameters, typename Visitor>
void for_each_field(Parameters& p, Visitor&& visit) {
  visit("stiffness", p.stiffness);
  visit("damping", p.damping);
  visit("integral_gain", p.integral_gain);
  visit("integral_limit", p.integral_limit);
  visit("clip_positive", p.clip_positive);
  visit("clip_negative", p.clip_negative);
  visit("nullspace_stiffness", p.nullspace_stiffness);
  visit("joint1_nullspace_stiffness", p.joint1_nullspace_stiffness);
  visit("target_time_constant", p.target_time_constant);
  visit("gain_time_constant", p.gain_time_constant);
  visit("torque_rate_limit", p.torque_rate_limit);
  visit("torque_limit", p.torque_limit);
  visit("fault_damping", p.fault_damping);
  visit("command_timeout", p.command_timeout);
}

[[noreturn]] void refuse(const char* name, nb::handle value, const std::string& expected) {
  const std::string text =
    std::string(name) + " is " + nb::repr(value).c_str() + ", expected " + expected;
  throw nb::value_error(text.c_str());
}

void assign(nb::handle object, const char* name, double& member) {
  const nb::object value = object.attr(name);
  if (!nb::try_cast<double>(value, member)) refuse(name, value, "a number");
}

template <int N>
void assign(nb::handle object, const char* name, Eigen::Matrix<double, N, 1>& member) {
  const nb::object value = object.attr(name);
  std::array<double, static_cast<std::size_t>(N)> values;
  if (!nb::try_cast(value, values)) refuse(name, value, std::to_string(N) + " numbers");
  for (int i = 0; i < N; ++i) member[i] = values[static_cast<std::size_t>(i)];
}

nb::object to_python(double member) { return nb::float_(member); }

template <int N>
nb::object to_python(const Eigen::Matrix<double, N, 1>& member) {
  nb::list values;
  for (int i = 0; i < N; ++i) values.append(member[i]);
  return nb::tuple(values);
}

}  // namespace

WorkspaceBox box_from(nb::handle object) {
  WorkspaceBox box;
  Eigen::Vector4d xyzw;
  assign(object, "position", box.reference.position);
  assign(object, "quaternion", xyzw);
  assign(object, "lower", box.lower);
  assign(object, "upper", box.upper);
  box.reference.orientation.coeffs() = xyzw;
  return box;
}

LawParameters parameters_from(nb::handle object) {
  LawParameters parameters;
  for_each_field(parameters, [&](const char* name, auto& member) { assign(object, name, member); });
  const nb::object box = object.attr("box");
  if (!box.is_none()) parameters.box = box_from(box);
  return parameters;
}

nb::dict default_parameters() {
  nb::dict defaults;
  const LawParameters parameters;
  for_each_field(
    parameters, [&](const char* name, const auto& member) { defaults[name] = to_python(member); });
  return defaults;
}

}  // namespace serl_controllers
