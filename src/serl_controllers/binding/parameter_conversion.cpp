#include "parameter_conversion.hpp"

#include <nanobind/stl/array.h>

#include <array>
#include <cstddef>
#include <string>

#include "serl_controllers/law_parameter_fields.hpp"

namespace nb = nanobind;

namespace serl_controllers {
namespace {

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
