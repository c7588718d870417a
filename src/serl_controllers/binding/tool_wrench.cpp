#include "tool_wrench.hpp"

namespace serl_controllers {
namespace {

/// A wrench about a fixed point, world frame.
struct WrenchSum {
  Vector3 point;
  Vector3 force = Vector3::Zero();
  Vector3 torque = Vector3::Zero();

  void add(const Vector3& at, const Vector3& force_at, const Vector3& torque_at) noexcept {
    force += force_at;
    torque += torque_at + (at - point).cross(force_at);
  }
};

bool on_tool(const mjModel* model, const MujocoArm& arm, int geom) noexcept {
  return geom >= 0 && arm.carries(model->geom_bodyid[geom]);  // -1: a flex
}

void add_contacts(
  const mjModel* model, const mjData* data, const MujocoArm& arm, WrenchSum& sum) noexcept {
  using Rows = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  for (int i = 0; i < data->ncon; ++i) {
    const mjContact& contact = data->contact[i];
    const bool first = on_tool(model, arm, contact.geom[0]);
    if (contact.efc_address < 0 || first == on_tool(model, arm, contact.geom[1])) continue;
    mjtNum wrench[6];  // of the first geom on the second, in the contact frame
    mj_contactForce(model, data, i, wrench);
    const Rows to_contact = Eigen::Map<const Rows>(contact.frame);
    const double sign = first ? -1.0 : 1.0;
    const Vector3 force = sign * (to_contact.transpose() * Eigen::Map<const Vector3>(wrench));
    const Vector3 torque = sign * (to_contact.transpose() * Eigen::Map<const Vector3>(wrench + 3));
    sum.add(Eigen::Map<const Vector3>(contact.pos), force, torque);
  }
}

void add_applied(
  const mjModel* model, const mjData* data, const MujocoArm& arm, WrenchSum& sum) noexcept {
  using Map3 = Eigen::Map<const Vector3>;
  for (int body = 1; body < model->nbody; ++body) {
    if (!arm.carries(body)) continue;
    const mjtNum* applied = data->xfrc_applied + 6 * body;
    sum.add(Map3(data->xipos + 3 * body), Map3(applied), Map3(applied + 3));
  }
}

}  // namespace

Vector6 tool_wrench(const mjModel* model, const mjData* data, const MujocoArm& arm) noexcept {
  WrenchSum sum;
  sum.point = Eigen::Map<const Vector3>(data->site_xpos + 3 * arm.site());
  add_contacts(model, data, arm, sum);
  add_applied(model, data, arm, sum);
  Vector6 wrench;
  wrench << arm.to_base(sum.force), arm.to_base(sum.torque);
  return wrench;
}

}  // namespace serl_controllers
