"""Joint positions that put the tool at a pose, found on the MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np

from serl_controllers.geometry import (
    Array,
    Pose,
    quaternion_product,
    rotation_vector_from_quaternion,
)
from serl_sim.config import SceneError

TOLERANCE_M = 1e-4
TOLERANCE_RAD = 1e-3
_ITERATIONS = 200
_DAMPING = 1e-4
_LARGEST_STEP = 0.2  # [rad]
_LIMIT_MARGIN = 0.01  # [rad]


def site_pose(data: mujoco.MjData, site: int) -> Pose:
    """Pose of a site in the base frame, of the kinematics that `data` holds."""
    quaternion_wxyz = np.empty(4)
    mujoco.mju_mat2Quat(quaternion_wxyz, data.site_xmat[site])
    return Pose(data.site_xpos[site].copy(), quaternion_wxyz[[1, 2, 3, 0]])


class InverseKinematics:
    """Damped least squares from one configuration, inside the joint limits.

    The same pose gives the same joint positions, whatever was asked before.
    """

    def __init__(self, model: mujoco.MjModel, site: int, home: tuple[float, ...]) -> None:
        """`site` is the tool's id, `home` [7] [rad] where every search starts, of the model's first
        joints."""
        self._model = model
        self._data = mujoco.MjData(model)
        self._site = site
        self._home = np.array(home)
        ranges = model.jnt_range[: len(home)]
        self._low = ranges[:, 0] + _LIMIT_MARGIN
        self._high = ranges[:, 1] - _LIMIT_MARGIN

    def solve(self, pose: Pose) -> Array:
        """Joint positions [7] [rad] that put the tool at `pose`, T_base_tcp.

        Raises:
          SceneError: none found within TOLERANCE_M and TOLERANCE_RAD; names the pose.
        """
        if not pose.is_valid:
            raise SceneError(f"start pose is not a pose: {pose.to_vector().tolist()}")
        q = self._home.copy()
        for _ in range(_ITERATIONS):
            error = self._error(q, pose)
            if np.linalg.norm(error) < 1e-9:
                break
            q = np.clip(q + self._step(error), self._low, self._high)
        error = self._error(q, pose)
        metres, angle = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        if metres > TOLERANCE_M or angle > TOLERANCE_RAD:
            raise SceneError(
                f"the arm does not reach the start pose {np.round(pose.to_vector(), 4).tolist()} "
                f"(xyz [m], quaternion xyzw): nearest is {1e3 * metres:.2f} mm and {angle:.4f} rad "
                f"off, allowed are {1e3 * TOLERANCE_M:.2f} mm and {TOLERANCE_RAD} rad"
            )
        return q

    def _error(self, q: Array, pose: Pose) -> Array:
        """Twist [6] from the tool at `q` to the pose, base frame; updates the kinematics."""
        self._data.qpos[: q.size] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        tool = site_pose(self._data, self._site)
        turn = quaternion_product(pose.quaternion, tool.inverse().quaternion)
        return np.concatenate(
            (pose.position - tool.position, rotation_vector_from_quaternion(turn))
        )

    def _step(self, error: Array) -> Array:
        jacobian = np.empty((6, self._model.nv))
        mujoco.mj_jacSite(self._model, self._data, jacobian[:3], jacobian[3:], self._site)
        jacobian = jacobian[:, : self._home.size]
        square = jacobian @ jacobian.T + _DAMPING * np.eye(6)
        step = jacobian.T @ np.linalg.solve(square, error)
        return step * min(1.0, _LARGEST_STEP / max(np.abs(step).max(), 1e-12))
