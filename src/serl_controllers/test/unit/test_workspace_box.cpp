// The box in R^3 and SO(3).
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "law_states.hpp"
#include "serl_controllers/law_parameters.hpp"
#include "serl_controllers/workspace_box.hpp"

namespace serl_controllers {
namespace {

/// Limits of a connector that points down: roll about pi, where Euler angles jump.
WorkspaceBox box_at_roll(double roll) {
  WorkspaceBox box;
  box.reference = pose_at(0.5669, 0.0021, 0.0536, {roll, 0.0, 0.0});
  box.lower << -0.05, -0.05, -0.005, -0.2, -0.05, -0.35;
  box.upper << 0.05, 0.05, 0.05, 0.2, 0.05, 0.35;
  return box;
}

TEST(WorkspaceBox, leaves_a_pose_inside_untouched) {
  const WorkspaceBox box = box_at_roll(M_PI);
  Pose pose = box.reference;
  pose.position += Vector3(0.04, -0.04, 0.0);
  pose.orientation = quaternion_from_rotation_vector({0.0, 0.01, 0.3}) * pose.orientation;
  const Pose before = pose;
  EXPECT_FALSE(box.clip(pose));
  EXPECT_EQ(pose.position, before.position);
  EXPECT_EQ(pose.orientation.coeffs(), before.orientation.coeffs());
}

TEST(WorkspaceBox, clips_each_axis_about_the_reference_in_the_base_frame) {
  const WorkspaceBox box = box_at_roll(M_PI);
  Pose pose = box.reference;
  pose.position += Vector3(0.1, 0.01, -0.1);
  pose.orientation = quaternion_from_rotation_vector({0.1, -0.3, 0.5}) * pose.orientation;
  EXPECT_TRUE(box.clip(pose));
  EXPECT_TRUE(pose.position.isApprox(box.reference.position + Vector3(0.05, 0.01, -0.005)));
  const Vector3 rotation = rotation_between(box.reference.orientation, pose.orientation);
  EXPECT_TRUE(rotation.isApprox(Vector3(0.1, -0.05, 0.35), 1e-9));
}

TEST(WorkspaceBox, test_d15_keeps_to_the_near_side_where_roll_passes_pi) {
  const WorkspaceBox box = box_at_roll(-3.10);
  Pose pose = pose_at(0.5669, 0.0021, 0.0536, {3.13, 0.0, 0.0});  // 0.053 rad away
  EXPECT_FALSE(box.clip(pose));
  pose = pose_at(0.5669, 0.0021, 0.0536, {2.8, 0.0, 0.0});  // 0.383 rad away
  EXPECT_TRUE(box.clip(pose));
  const Vector3 rotation = rotation_between(box.reference.orientation, pose.orientation);
  EXPECT_TRUE(rotation.isApprox(Vector3(-0.2, 0.0, 0.0), 1e-9));
}

TEST(WorkspaceBox, clipping_twice_changes_nothing) {
  std::srand(3);
  const WorkspaceBox box = box_at_roll(M_PI);
  for (int i = 0; i < 500; ++i) {
    Pose pose = pose_at(0.5, 0.0, 0.0, Vector3::Random() * 3.0);
    box.clip(pose);
    const Pose once = pose;
    box.clip(pose);
    EXPECT_LT((pose.position - once.position).norm(), 1e-12);
    EXPECT_LT(rotation_between(pose.orientation, once.orientation).norm(), 1e-9);
  }
}

TEST(Validate, names_what_is_out_of_bounds) {
  LawParameters parameters;
  EXPECT_NO_THROW(validate(parameters));
  parameters.clip_positive[1] = 0.5;
  try {
    validate(parameters);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "clip_positive[1] is 0.5, expected 0 to 0.1");
  }
}

TEST(Validate, refuses_not_a_number_and_an_empty_box) {
  LawParameters parameters;
  parameters.damping[5] = std::nan("");
  EXPECT_THROW(validate(parameters), std::invalid_argument);
  WorkspaceBox box = box_at_roll(0.0);
  EXPECT_NO_THROW(validate(box));
  box.lower[2] = 0.1;
  EXPECT_THROW(validate(box), std::invalid_argument);
}

}  // namespace
}  // namespace serl_controllers
