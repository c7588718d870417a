// Python module of the impedance law and the MuJoCo arm under it.
#include <mujoco/mujoco.h>
#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "law_binding.hpp"
#include "parameter_conversion.hpp"
#include "pose_conversion.hpp"
#include "simulated_arm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace serl_controllers {
namespace {

/// The C struct behind a Python MjModel or MjData.
template <typename T>
T* address(nb::handle object) {
  return reinterpret_cast<T*>(nb::cast<std::uintptr_t>(object.attr("_address")));
}

void construct(
  SimulatedArm* self, nb::object model, nb::object data, const std::string& site,
  const std::vector<std::string>& joints, const std::vector<std::string>& actuators,
  nb::object parameters) {
  new (self) SimulatedArm(
    address<mjModel>(model), address<mjData>(data), site, joints, actuators,
    parameters_from(parameters));
}

std::pair<std::pair<Vector3, Eigen::Vector4d>, bool> clip(
  nb::object box, const Array3& position, const Array4& xyzw) {
  Pose pose = pose_from(position, xyzw);
  const bool moved = box_from(box).clip(pose);
  return {{pose.position, xyzw_from(pose)}, moved};
}

void bind_commands(nb::class_<SimulatedArm>& arm) {
  arm.def(
    "__init__", &construct, "model"_a, "data"_a, "site"_a, "joints"_a, "actuators"_a,
    "parameters"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  arm.def(
    "reset", &SimulatedArm::reset,
    "Takes over what was set in the data: the setpoint becomes the measured pose, filters,\n"
    "integral, watchdog and wrench are cleared, the mode is IMPEDANCE. RuntimeError if the\n"
    "state is not finite.");
  arm.def(
    "step", &SimulatedArm::step, "ticks"_a, nb::call_guard<nb::gil_scoped_release>(),
    "Runs so many physics steps, each under the law. The GIL is released: the model and data\n"
    "must not be touched meanwhile. Stops, in FAULT, when the physics diverge.");
  arm.def(
    "set_parameters",
    [](SimulatedArm& self, nb::object p) { self.set_parameters(parameters_from(p)); },
    "parameters"_a, "Gains change through their filter, all else at once.");
  arm.def(
    "set_target",
    [](SimulatedArm& self, const Array3& position, const Array4& quaternion) {
      return self.set_target(pose_from(position, quaternion));
    },
    "position"_a, "quaternion"_a,
    "A new target, T_base_ee: [3] [m] and xyzw [4]. False: refused and counted (not finite, not\n"
    "normalised, or in FAULT), and the arm holds its pose.");
  arm.def(
    "start_joint_move", &SimulatedArm::start_joint_move, "q"_a, "max_velocity"_a,
    "Moves the joints to [7] [rad], the fastest at [rad/s], then holds. False: refused (not\n"
    "finite, out of the joints' range, a move under way, or in FAULT); the arm goes on.");
  arm.def("cancel_joint_move", &SimulatedArm::cancel_joint_move, "Brakes a joint move, and holds.");
  arm.def("recover", &SimulatedArm::recover, "Leaves FAULT, to HOLD, at the next finite state.");
}

void bind_law_status(nb::class_<SimulatedArm>& arm) {
  using Self = const SimulatedArm&;
  arm.def_prop_ro(
    "mode",
    [](Self self) {
      const int mode = static_cast<int>(self.status().mode);
      return nb::module_::import_("serl_controllers.arm").attr("ArmMode")(mode);
    },
    "ArmMode");
  arm.def_prop_ro(
    "commanded_position", [](Self self) { return self.status().commanded.position; },
    "Of the filtered target, base frame [3] [m]");
  arm.def_prop_ro(
    "commanded_quaternion", [](Self self) { return xyzw_from(self.status().commanded); },
    "Of the filtered target, base frame, xyzw [4]");
  arm.def_prop_ro(
    "error_clipped",
    [](Self self) {
      return Eigen::Map<const Eigen::Array<bool, 6, 1>>(self.status().error_clipped.data()).eval();
    },
    "Per axis, translation first [6] bool");
  arm.def_prop_ro(
    "target_clipped", [](Self self) { return self.status().target_clipped; },
    "The workspace box moved the target");
  arm.def_prop_ro(
    "torque_saturated", &SimulatedArm::torque_saturated,
    "A torque or torque-rate limit was active in a tick of the last step()");
  arm.def_prop_ro(
    "rejected_commands", [](Self self) { return self.status().rejected_commands; },
    "Refused since construction");
  arm.def_prop_ro(
    "command_age", [](Self self) { return self.status().command_age; },
    "Physics time since the last accepted command or reset [s]");
}

void bind_measurements(nb::class_<SimulatedArm>& arm) {
  using Self = const SimulatedArm&;
  arm.def_prop_ro("q", [](Self self) { return self.state().q; }, "[7] [rad]");
  arm.def_prop_ro("dq", [](Self self) { return self.state().dq; }, "[7] [rad/s]");
  arm.def_prop_ro(
    "tcp_position", [](Self self) { return self.state().T_base_ee.position; },
    "Base frame [3] [m]");
  arm.def_prop_ro(
    "tcp_quaternion", [](Self self) { return xyzw_from(self.state().T_base_ee); },
    "Base frame, xyzw [4]");
  arm.def_prop_ro(
    "tcp_twist", [](Self self) { return Vector6(self.state().jacobian * self.state().dq); },
    "Base frame [6] [m/s, rad/s]");
  arm.def_prop_ro(
    "wrench", [](Self self) { return self.wrench(); },
    "External, on the tool at the end effector, base frame, filtered (50 ms) [6] [N, N m]");
  arm.def_prop_ro(
    "tau_ext", [](Self self) { return Vector7(self.state().jacobian.transpose() * self.wrench()); },
    "Joint torque of that wrench [7] [N m]");
  arm.def_prop_ro(
    "torque", [](Self self) { return self.torque(); },
    "Of the law in the last tick, without gravity [7] [N m]");
  arm.def_prop_ro(
    "peak_force", &SimulatedArm::peak_force, "Largest filtered force since reset [N]");
}

}  // namespace
}  // namespace serl_controllers

NB_MODULE(_binding, module) {
  using namespace serl_controllers;
  if (mj_version() != mjVERSION_HEADER) {
    throw std::runtime_error(
      "built for MuJoCo " + std::to_string(mjVERSION_HEADER) + ", found " +
      std::to_string(mj_version()) + ": build serl_controllers again");
  }
  module.def("default_parameters", &default_parameters, "Fields of LawParameters, but the box");
  module.def(
    "validate_parameters", [](nb::object p) { validate(parameters_from(p)); }, "parameters"_a);
  module.def("validate_box", [](nb::object box) { validate(box_from(box)); }, "box"_a);
  module.def("clip", &clip, "box"_a, "position"_a, "quaternion"_a);
  bind_law(module);

  nb::class_<SimulatedArm> arm(
    module, "SimulatedArm",
    "A MuJoCo arm under the impedance law, one physics step per tick.\n\n"
    "Steps a model and data that the caller owns. The base frame is that of the body which\n"
    "carries the first joint's. Turns MuJoCo's automatic reset off in the model. ValueError if\n"
    "the model lacks a named site, joint or actuator, or an actuator is not a plain motor.");
  bind_commands(arm);
  bind_law_status(arm);
  bind_measurements(arm);
}
