"""Who demonstrates and corrects: a person with a device, the scripted expert, or both. No ROS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serl_franka_bringup.projection import Parameters
from serl_franka_bringup.robots import Kind
from serl_franka_bringup.terminal import terminal_name

if TYPE_CHECKING:
    from serl_franka_bringup.arguments import Arguments

DEVICES = {
    name: Kind("serl_actor", f"{name}_node", vital=False)
    for name in ("spacemouse", "gamepad", "keyboard")
}
KINDS = {"expert": Kind("serl_sim", "expert_node"), **DEVICES}


def is_wanted(name: str, arguments: Arguments) -> bool:
    """Whether this operator takes part; the expert does where no person does, unless told."""
    if name == "expert" and arguments.corrected:
        return True
    if name == "expert":
        return arguments.device == "none" if arguments.expert is None else arguments.expert
    return name == arguments.device


def device_parameters(arguments: Arguments) -> dict[str, Parameters]:
    """Parameters by node name. A keyboard is that of the terminal of this program."""
    parameters: dict[str, Parameters] = {name: {} for name in DEVICES}
    terminal = terminal_name() if arguments.device == "keyboard" else ""
    if terminal:
        parameters["keyboard"]["terminal"] = terminal
    return parameters
