// The impedance law alone as a Python class, for tests of its properties.
#pragma once

#include <nanobind/nanobind.h>

namespace serl_controllers {

void bind_law(nanobind::module_& module);

}  // namespace serl_controllers
