"""Impedance control of an arm: its values, conversions, and the law bound to MuJoCo.

What needs the compiled module (and with it MuJoCo) is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serl_controllers.law_parameters import LawParameters, WorkspaceBox
    from serl_controllers.simulated_arm import SimulatedArm

__all__ = ["LawParameters", "SimulatedArm", "WorkspaceBox"]

_MODULES = {
    "LawParameters": "serl_controllers.law_parameters",
    "SimulatedArm": "serl_controllers.simulated_arm",
    "WorkspaceBox": "serl_controllers.law_parameters",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
