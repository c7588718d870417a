"""The nodes of each robot and of its drivers: where they come from, and their parameters. No ROS.

`graph.py` composes them with the nodes of learning; a simulated robot is one node.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serl_franka_bringup import config
from serl_franka_bringup.cameras import Camera, load_cameras
from serl_franka_bringup.projection import Parameters, project_controller, project_views
from serl_franka_bringup.task import TaskFile, config_directory

if TYPE_CHECKING:
    from serl_franka_bringup.arguments import Arguments

ROBOTS = ("sim", "fr3")
HARDWARE = ("franka", "mujoco", "mock")
CAMERAS = ("wrist_1", "wrist_2")  # names that a graph may have; cameras.yaml says which it has
SIM_CAMERAS = ("wrist", "side", "spectator")  # of the simulated scene
ARM_CONTROLLER = "cartesian_impedance_controller"
DESCRIPTION = "urdf/fr3.urdf.xacro"  # in the package's share


@dataclass(frozen=True)
class Kind:
    """A kind of node.

    Attributes:
      package, executable: what it is.
      role: the machine it belongs to: "robot" or "learner".
      robots: of which it is part.
      needs: further packages, or Python modules, that it cannot do without.
      optional_for: robots that go without it where it or what it needs is not installed.
      renamed: it takes the name it has in the graph; a process of several nodes does not.
      group: its namespace below the robot's.
      described: it gets the robot description.
      shares: nodes in the same process, whose parameters stand in the same file.
      config_file: shown to it on its command line by -d.
      remappings: of its topics.
      vital: a run ends when it stays dead; false: the run goes on without it.
    """

    package: str
    executable: str
    role: str = "robot"
    robots: tuple[str, ...] = ROBOTS
    needs: tuple[str, ...] = ()
    optional_for: tuple[str, ...] = ()
    renamed: bool = True
    group: str = ""
    described: bool = False
    shares: tuple[str, ...] = ()
    config_file: str = ""
    remappings: tuple[tuple[str, str], ...] = ()
    vital: bool = True


_CAMERA = Kind("realsense2_camera", "realsense2_camera_node", robots=("fr3",), group="camera")

DRIVERS = {
    "robot_state_publisher": Kind(
        "robot_state_publisher",
        "robot_state_publisher",
        needs=("xacro", "franka_description"),
        optional_for=("sim",),
        described=True,
    ),
    "controller_manager": Kind(
        "controller_manager",
        "ros2_control_node",
        robots=("fr3",),
        needs=("serl_controllers",),
        renamed=False,
        shares=(
            ARM_CONTROLLER,
            "franka_robot_state_broadcaster",
            "joint_state_broadcaster",
            "robotiq_activation_controller",
            "robotiq_gripper_controller",
        ),
    ),
    "arm_manager": Kind(
        "serl_franka_bringup",
        "arm_manager_node",
        robots=("fr3",),
        needs=("controller_manager_msgs",),
    ),
    "franka_gripper": Kind(
        "franka_gripper",
        "franka_gripper_node",
        robots=("fr3",),
        remappings=(("~/joint_states", "joint_states"),),
    ),
    **dict.fromkeys(CAMERAS, _CAMERA),
    "markers": Kind("serl_franka_bringup", "markers_node", vital=False),
    "rviz2": Kind("rviz2", "rviz2", config_file="serl.rviz", vital=False),
}


def is_wanted(name: str, arguments: Arguments, parameters: Mapping[str, Any]) -> bool:
    """Whether a driver is part of the robot as the user asked for it."""
    if name == "franka_gripper":
        return arguments.gripper == "franka" and arguments.hardware == "franka"
    if name in CAMERAS:
        return "serial_no" in parameters
    if name in ("markers", "rviz2"):
        return arguments.rviz
    return True


def driver_parameters(file: TaskFile, arguments: Arguments) -> dict[str, Parameters]:
    """Parameters by node name; those of the real arm's files are read for the real arm only.

    Args:
      file: the task whose figures the controller gets; see `find_beside` for further files.
      arguments: what the user said.

    Raises:
      ConfigError: names the file and the key.
    """
    task = file.task
    every = (*DRIVERS, *(name for kind in DRIVERS.values() for name in kind.shares))
    parameters: dict[str, Parameters] = {name: {} for name in every}
    parameters["markers"] = {
        "target_position": task.target_position,
        "target_rpy": task.target_rpy,
        "box_lower": task.box_lower,
        "box_upper": task.box_upper,
    }
    if arguments.robot != "fr3":
        return parameters
    path = find_beside(file, "controllers.yaml")
    for node, values in config.read_yaml(path).items():
        if node not in parameters:
            raise config.ConfigError(f"{path}: {node}: unknown key; known: {', '.join(every)}")
        parameters[node].update(config.flatten(values))
    parameters[ARM_CONTROLLER].update(project_controller(task))
    parameters["arm_manager"] = _manager(arguments)
    parameters["franka_gripper"] = {
        "robot_ip": arguments.robot_ip,
        "joint_names": ("fr3_finger_joint1", "fr3_finger_joint2"),
    }
    for name, camera in _cameras(file, arguments).items():
        parameters[name] = camera.driver_parameters(name)
    return parameters


def camera_views(file: TaskFile, arguments: Arguments) -> Parameters:
    """The actor's cameras where cameras.yaml has a say: on a real arm that learns from images.

    They are those of the task that are in the file, with the task's crop, if it has any; and all
    of the file's, each with its own crop, if the task names others only.

    Raises:
      ConfigError: the file has some of the task's cameras, but not all, or the simulated scene
        lacks one.
    """
    task, cameras = file.task, _cameras(file, arguments)
    if task.observation != "image":
        return {}
    unknown = [name for name in task.cameras if name not in SIM_CAMERAS]
    if arguments.robot == "sim" and unknown:
        raise config.ConfigError(
            f"{file.path}: task.cameras: the simulated scene has no {', '.join(unknown)}; known: "
            f"{', '.join(SIM_CAMERAS)}"
        )
    if not cameras:
        return {}
    missing = [name for name in task.cameras if name not in cameras]
    if missing and len(missing) < len(task.cameras):
        raise config.ConfigError(
            f"{file.path}: task.cameras: {', '.join(missing)} is not in "
            f"{find_beside(file, 'cameras.yaml')}; known: {', '.join(cameras)}"
        )
    if task.crop and not missing:
        return project_views(task.cameras, task.crop)
    names = tuple(cameras) if missing else task.cameras
    return project_views(names, {name: camera.crop for name, camera in cameras.items()})


def _cameras(file: TaskFile, arguments: Arguments) -> dict[str, Camera]:
    """Those of cameras.yaml by name, if this machine has them."""
    if arguments.robot != "fr3" or not arguments.cameras or arguments.roles == "learner":
        return {}
    path = find_beside(file, "cameras.yaml")
    cameras = load_cameras(path)
    for name in cameras:
        if name not in CAMERAS:
            raise config.ConfigError(f"{path}: {name}: known are {', '.join(CAMERAS)}")
    return cameras


def find_beside(file: TaskFile, name: str) -> Path:
    """A file of the robot: the one beside the task's file, else the installed one."""
    beside = file.path.parent / name
    return beside if beside.exists() else config_directory() / name


def description_arguments(arguments: Arguments) -> dict[str, str]:
    """Of the xacro file. A simulated robot has no hardware, and its hand is drawn closed."""
    if arguments.robot == "sim":
        return {"hardware": "none", "gripper": "franka"}
    model = {"mujoco_model": str(_mujoco_model())} if arguments.hardware == "mujoco" else {}
    return {
        "hardware": arguments.hardware,
        "robot_ip": arguments.robot_ip,
        "gripper": arguments.gripper,
        **model,
    }


def _mujoco_model() -> Path:
    """The FR3 that the simulator is built on, too."""
    spec = importlib.util.find_spec("franky_sim")
    if spec is None or not spec.submodule_search_locations:
        raise config.ConfigError("franky-sim is not installed: run `./serl setup`")
    return Path(spec.submodule_search_locations[0]) / "assets" / "fr3.xml"


def _manager(arguments: Arguments) -> Parameters:
    helpers = ["joint_state_broadcaster"]
    if arguments.hardware == "franka":
        helpers.append("franka_robot_state_broadcaster")
    if arguments.gripper == "robotiq" and arguments.hardware == "franka":
        helpers += ["robotiq_activation_controller", "robotiq_gripper_controller"]
    real = arguments.hardware == "franka"
    return {
        "supervision.controller": ARM_CONTROLLER,
        "supervision.helpers": helpers,
        "supervision.robot_reports": real,
        "gripper.kind": arguments.gripper if real else "none",
    }
