// The external wrench on what the last joint carries, from MuJoCo's contacts.
#pragma once

#include <mujoco/mujoco.h>

#include "mujoco_arm.hpp"
#include "serl_controllers/types.hpp"

namespace serl_controllers {

/// Sum of the contact forces between the tool and anything else, and of applied forces
/// (xfrc_applied) on the tool. Exact where a force sensor at the flange is not: that one reads
/// the tool's weight and inertia too, which swamp a contact while the arm accelerates.
///
/// Needs contacts and constraint forces as mj_step2 leaves them, before the next mj_step1.
/// \return on the tool, at the end effector, base frame, [N, N m]
Vector6 tool_wrench(const mjModel* model, const mjData* data, const MujocoArm& arm) noexcept;

}  // namespace serl_controllers
