"""What a node's process is told: its parameter file, and the arguments of its command line."""

from __future__ import annotations

from pathlib import Path

from serl_franka_bringup.description import expand
from serl_franka_bringup.graph import Node
from serl_franka_bringup.run_directory import RunDirectory


def write_parameters(node: Node, directory: RunDirectory) -> Path:
    """The node's parameter file, with the robot description where it gets one.

    Raises:
      DescriptionError: that cannot be made.
    """
    parameters = dict(node.parameters)
    if node.description is not None:
        parameters["robot_description"] = expand(node.description)
    return directory.write_parameters(node.name, parameters, node.shares)


def ros_arguments(node: Node, parameters: Path) -> list[str]:
    """Its own arguments, then those of ROS: name, namespace, parameters and remappings."""
    command = [*node.arguments, "--ros-args"]
    if node.renamed:
        command += ["-r", f"__node:={node.name}"]
    if node.namespace:
        command += ["-r", f"__ns:={node.namespace}"]
    command += ["--params-file", str(parameters)]
    for source, target in node.remappings:
        command += ["-r", f"{source}:={target}"]
    return command
