// The Python dataclasses LawParameters and WorkspaceBox to their C++ structs.
#pragma once

#include <nanobind/nanobind.h>

#include "serl_controllers/law_parameters.hpp"

namespace serl_controllers {

/// \throws nanobind::value_error naming a field that is missing or has another length
LawParameters parameters_from(nanobind::handle parameters);

/// \throws nanobind::value_error naming a field that is missing or has another length
WorkspaceBox box_from(nanobind::handle box);

/// Every field of LawParameters but the box, by name: float, or tuple of floats.
nanobind::dict default_parameters();

}  // namespace serl_controllers
