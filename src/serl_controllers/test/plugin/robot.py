"""The robot that the controller is tried on: the FR3's description with MuJoCo as its hardware."""

from __future__ import annotations

import importlib.util
import pathlib

import mujoco
import yaml

JOINTS = [f"joint{i}" for i in range(1, 8)]
START_Q = (0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785)  # [rad]
BASE, TIP, TABLE = "link0", "link8", "table"
TABLE_XYZ, TABLE_YAW = (0.4, 0.1, 0.05), 0.5  # in the base frame [m, rad]
COMMAND_TIMEOUT = 0.5  # [s]
CONTROLLER = "cartesian_impedance_controller"
PLUGIN = "serl_controllers/CartesianImpedanceController"

_JOINT = """
  <joint name="{name}">
    <command_interface name="effort"/>
    <state_interface name="position"><param name="initial_value">{start}</param></state_interface>
    <state_interface name="velocity"/>
    <state_interface name="effort"/>
  </joint>"""

_TABLE = """
  <link name="{name}"/>
  <joint name="{name}_joint" type="fixed">
    <parent link="{base}"/><child link="{name}"/>
    <origin xyz="{xyz}" rpy="0 0 {yaw}"/>
  </joint>"""


def robot_description(model_path: str) -> str:
    """URDF with the joints' interfaces; its hardware simulates the MJCF of `model_path`."""
    joints = "".join(_JOINT.format(name=n, start=q) for n, q in zip(JOINTS, START_Q))
    xyz = " ".join(map(str, TABLE_XYZ))
    table = _TABLE.format(name=TABLE, base=BASE, xyz=xyz, yaw=TABLE_YAW)
    hardware = f"""
  <ros2_control name="arm" type="system">
    <hardware>
      <plugin>serl_controllers/MujocoSystem</plugin>
      <param name="model_path">{model_path}</param>
      <param name="joint_friction_scale">0.1</param>
    </hardware>{joints}
  </ros2_control>"""
    return fr3_urdf().replace("</robot>", f"{table}{hardware}\n</robot>")


def fr3_urdf() -> str:
    """Of the arm alone."""
    package = importlib.util.find_spec("franky_sim")
    assert package is not None
    folder = pathlib.Path(package.submodule_search_locations[0])
    return (folder / "assets" / "fr3_clean.urdf").read_text()


def mjcf() -> str:
    """The arm of the description in MuJoCo's format, as the FR3's models come: with the inertia of
    its motors, friction, and servos that would keep it where it is."""
    spec = mujoco.MjSpec.from_string(fr3_urdf())
    for name in JOINTS:
        spec.joint(name).armature = 0.1
        spec.joint(name).frictionloss = 1.0
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        spec.actuator(name).set_to_position(kp=4500.0, kv=450.0)
    spec.compile()
    return spec.to_xml()


def parameters() -> str:
    """YAML for controller_manager and the controller."""
    precise = {"stiffness": [3000.0] * 3 + [150.0] * 3, "clip_positive": [0.02] * 3 + [0.2] * 3}
    controller = {
        "joints": JOINTS,
        "base_frame": BASE,
        "end_effector_frame": TIP,
        "command_timeout": COMMAND_TIMEOUT,
        "compliance_sets": ["compliance", "precision"],
        "compliance": {"precision": precise},
    }
    manager = {"update_rate": 1000, CONTROLLER: {"type": PLUGIN}}
    tree = {"controller_manager": manager, CONTROLLER: controller}
    return yaml.safe_dump({name: {"ros__parameters": values} for name, values in tree.items()})
