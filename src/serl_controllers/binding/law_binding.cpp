#include "law_binding.hpp"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "parameter_conversion.hpp"
#include "pose_conversion.hpp"
#include "serl_controllers/impedance_law.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace serl_controllers {
namespace {

using Range = std::optional<std::pair<Vector7, Vector7>>;

void construct(ImpedanceLaw* self, nb::object parameters, const Range& joint_range) {
  std::optional<JointRange> range;
  if (joint_range) range = JointRange{joint_range->first, joint_range->second};
  new (self) ImpedanceLaw(parameters_from(parameters), range);
}

nb::object mode(const ImpedanceLaw& self) {
  const int mode = static_cast<int>(self.status().mode);
  return nb::module_::import_("serl_controllers.arm").attr("ArmMode")(mode);
}

}  // namespace

void bind_law(nb::module_& module) {
  nb::class_<ArmState>(module, "LawState", "What the law reads; see ArmState in types.hpp")
    .def(
      "__init__",
      [](
        ArmState* self, const Vector7& q, const Vector7& dq, const Array3& position,
        const Array4& quaternion, const Matrix67& jacobian, const Vector7& coriolis) {
        new (self) ArmState{q, dq, pose_from(position, quaternion), jacobian, coriolis};
      },
      "q"_a, "dq"_a, "position"_a, "quaternion"_a, "jacobian"_a, "coriolis"_a);

  nb::class_<ImpedanceLaw>(
    module, "ImpedanceLaw", "The law without an arm: torque [7] [N m] from a LawState per tick.")
    .def("__init__", &construct, "parameters"_a, "joint_range"_a = nb::none())
    .def("reset", &ImpedanceLaw::reset, "state"_a)
    .def(
      "set_parameters",
      [](ImpedanceLaw& self, nb::object p) { self.set_parameters(parameters_from(p)); },
      "parameters"_a)
    .def(
      "set_target",
      [](ImpedanceLaw& self, const Array3& position, const Array4& quaternion) {
        return self.set_target(pose_from(position, quaternion));
      },
      "position"_a, "quaternion"_a)
    .def(
      "update",
      [](ImpedanceLaw& self, const ArmState& state, double dt) -> Vector7 {
        return self.update(state, dt);
      },
      "state"_a, "dt"_a)
    .def("recover", &ImpedanceLaw::recover)
    .def_prop_ro("mode", &mode, "ArmMode");
}

}  // namespace serl_controllers
