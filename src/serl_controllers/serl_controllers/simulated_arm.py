"""A MuJoCo arm under the impedance law (compiled; see SimulatedArm's own documentation)."""

from __future__ import annotations

import mujoco  # noqa: F401  first: the compiled module then finds the same libmujoco loaded

from serl_controllers._binding import SimulatedArm

__all__ = ["SimulatedArm"]
