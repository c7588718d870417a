"""robot:=fr3: its drivers, their parameters, and what is refused before anything starts."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from serl_franka_bringup import graph, plan
from serl_franka_bringup.availability import usable
from serl_franka_bringup.command_line import ros_arguments
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.task import load_task

CONFIG = Path(__file__).resolve().parents[2] / "config"
FR3 = ("robot:=fr3", "robot_ip:=172.16.0.2")
LAW = "cartesian_impedance_controller"


@pytest.fixture
def task(tmp_path) -> Path:
    """The task with all files beside it; its cameras have serial numbers."""
    for name in ("pcb.yaml", "controllers.yaml", "cameras.yaml"):
        shutil.copy(CONFIG / name, tmp_path / name)
    cameras = yaml.safe_load((tmp_path / "cameras.yaml").read_text())
    for number, camera in enumerate(cameras.values()):
        camera["serial"] = f"12345{number}"
    (tmp_path / "cameras.yaml").write_text(yaml.safe_dump(cameras))
    return tmp_path / "pcb.yaml"


def nodes(task: Path, *pairs: str) -> dict[str, graph.Node]:
    arguments, overrides = graph.parse_arguments(pairs)
    made = graph.make_graph(load_task(task, graph.NODES), arguments, overrides)
    return {node.name: node for node in made}


def test_the_real_arm_has_its_drivers_in_place_of_the_simulator(task):
    names = set(nodes(task, *FR3))
    assert names == {
        "robot_state_publisher", "controller_manager", "arm_manager", "franka_gripper",
        "wrist_1", "wrist_2", "expert", "actor", "learner",
    }  # fmt: skip
    assert "sim" in nodes(task)


def test_the_arm_alone_has_nobody_who_commands(task):
    alone = set(nodes(task, *FR3, "roles:=arm"))
    assert alone == set(nodes(task, *FR3)) - {"expert", "actor", "learner"}
    assert set(nodes(task, "roles:=arm")) == {"sim", "robot_state_publisher"}


def without_cameras(made) -> dict:
    parameters = made["actor"].parameters
    return {name: value for name, value in parameters.items() if not name.startswith("cameras.")}


def test_everything_but_the_robot_is_the_same(task):
    """Above arm/* nothing knows which robot it is, but the actor: a real arm does not wait, and has
    cameras of its own. So a learner beside it leaves it a core."""
    real, simulated = nodes(task, *FR3), nodes(task)
    assert real["expert"] == simulated["expert"]
    learner = simulated["learner"]
    assert real["learner"] == replace(learner, parameters={**learner.parameters, "spare_cores": 1})
    changed = {"simulated": False, "lockstep": False}
    assert without_cameras(real) == {**without_cameras(simulated), **changed}


def test_the_tasks_figures_reach_the_controller_as_they_reach_the_simulator(task):
    law = nodes(task, *FR3)["controller_manager"].shares[LAW]
    sim = nodes(task)["sim"].parameters
    for name in ("stiffness", "damping", "clip_positive", "clip_negative", "target_time_constant"):
        assert law[f"compliance.compliance.{name}"] == sim[f"compliance.{name}"]
    assert law["box.lower"] == sim["compliance.box_lower"]
    assert law["box.position"] == sim["scene.target_position"]
    assert law["box.enabled"] is True
    assert sum(v * v for v in law["box.quaternion"]) == pytest.approx(1.0)


def test_every_controller_has_a_type_and_the_manager_names_those_that_exist(task):
    made = nodes(task, *FR3, "gripper:=robotiq")
    types = made["controller_manager"].parameters
    manager = made["arm_manager"].parameters
    for name in (manager["supervision.controller"], *manager["supervision.helpers"]):
        assert f"{name}.type" in types
        assert name in made["controller_manager"].shares
    assert manager["supervision.robot_reports"] is True
    assert "robotiq_gripper_controller" in manager["supervision.helpers"]
    assert "franka_gripper" not in made


def test_a_trial_without_a_robot_needs_no_address_and_no_reports(task):
    manager = nodes(task, "robot:=fr3", "hardware:=mujoco")["arm_manager"].parameters
    assert manager["supervision.robot_reports"] is False
    assert manager["gripper.kind"] == "none"


def test_the_cameras_are_those_of_the_file_and_may_be_left_out(task):
    camera = nodes(task, *FR3)["wrist_2"]
    assert camera.parameters["serial_no"] == "123451"
    assert camera.parameters["rgb_camera.color_profile"] == "640x480x15"
    assert camera.namespace == "/camera"
    assert not {"wrist_1", "wrist_2"} & set(nodes(task, *FR3, "cameras:=false"))


def test_cameras_without_serial_numbers_are_refused_before_anything_starts():
    with pytest.raises(ConfigError, match=r"cameras\.yaml: wrist_1, wrist_2: no serial number"):
        nodes(CONFIG / "pcb.yaml", *FR3)


def test_the_learners_machine_needs_no_cameras_and_runs_the_same_run(task, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "usable", tuple)
    robot = plan.make_plan(str(task), (*FR3, "roles:=robot"), tmp_path).directory
    shutil.copy(CONFIG / "cameras.yaml", task.parent)
    learner = plan.make_plan(str(task), (*FR3, "roles:=learner"), tmp_path)
    assert learner.directory == robot
    assert {node.name for node in learner.nodes} == {"learner", "metrics_writer"}


def test_the_box_of_a_picture_must_lie_in_it(task):
    path = task.parent / "cameras.yaml"
    cameras = yaml.safe_load(path.read_text())
    cameras["wrist_1"]["crop"] = [0, 500, 0, 640]
    path.write_text(yaml.safe_dump(cameras))
    with pytest.raises(ConfigError, match=r"wrist_1: crop \(0, 500, 0, 640\) is not inside"):
        nodes(task, *FR3)


def test_parameters_of_drivers_and_controllers_can_be_set(task):
    made = nodes(task, *FR3, f"{LAW}.command_timeout:=0.2", "arm_manager.gripper.way:=continuous")
    assert made["controller_manager"].shares[LAW]["command_timeout"] == 0.2
    assert made["arm_manager"].parameters["gripper.way"] == "continuous"


def test_an_unknown_controller_in_the_file_is_told(task):
    (task.parent / "controllers.yaml").write_text("cartesian_controller: {a: 1}\n")
    with pytest.raises(ConfigError, match=r"controllers\.yaml: cartesian_controller: unknown key"):
        nodes(task, *FR3)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (("robot:=fr3",), "robot 'fr3' needs robot_ip"),
        (("robot:=panda",), "robot 'panda' is not sim or fr3"),
        (("robot_ip:=172.16.0.2",), "robot:=fr3"),
        (("gripper:=hand",), "gripper 'hand'"),
        (("namespace:=/robot one",), "namespace '/robot one'"),
    ],
)
def test_wrong_arguments_are_named(pairs, message):
    with pytest.raises(ConfigError, match=message):
        graph.parse_arguments(pairs)


def test_a_namespace_holds_every_node_of_the_robot(task):
    made = nodes(task, *FR3, "namespace:=left")
    assert {node.namespace for node in made.values()} == {"/left", "/left/camera"}
    command = ros_arguments(made["controller_manager"], Path("p.yaml"))
    assert command == ["--ros-args", "-r", "__ns:=/left", "--params-file", "p.yaml"]
    assert "__node:=actor" in " ".join(ros_arguments(made["actor"], Path("p.yaml")))


def test_rviz_shows_the_configuration_beside_the_task_or_the_installed_one(task):
    shown = nodes(task, "rviz:=true")
    assert {"markers", "rviz2"} <= set(shown)
    assert shown["rviz2"].arguments[0] == "-d"
    assert shown["rviz2"].arguments[1].endswith("serl.rviz")


def test_what_simulation_can_go_without_is_left_out_and_what_the_arm_needs_is_an_error(task):
    ours = {"serl_sim", "serl_actor", "serl_learner", "serl_franka_bringup", "serl_controllers"}
    left = {node.name for node in usable(nodes(task).values(), ours.__contains__)}
    assert left == {"sim", "expert", "actor", "learner"}
    with pytest.raises(ConfigError) as error:
        usable(nodes(task, *FR3).values(), ours.__contains__)
    assert "controller_manager (for controller_manager)" in str(error.value)
    assert "ros-jazzy-realsense2-camera" in str(error.value)


def test_a_run_with_the_arm_is_another_than_one_in_simulation(task, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "usable", tuple)
    real = plan.make_plan(str(task), FR3, tmp_path).directory
    assert real != plan.make_plan(str(task), (), tmp_path).directory
    assert plan.make_plan(str(task), (*FR3, "namespace:=left"), tmp_path).directory == real


def picking(path: Path, *pairs: str) -> dict[str, graph.Node]:
    shutil.copy(CONFIG / "pick.yaml", path.with_name("pick.yaml"))
    return nodes(path.with_name("pick.yaml"), *FR3, *pairs)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ((), r"robot:=fr3 observation:=state.*there are no cameras"),
        (("job:=record",), r"there are no cameras.*say observation:=image reward:=classifier"),
        (("roles:=learner",), r"scene 'pick' with robot:=fr3"),
        (("observation:=image",), r"observation:=image reward:=sparse.*reward.source is 'sparse'"),
    ],
)
def test_a_real_arm_is_not_started_to_move_what_nobody_sees(task, pairs, says):
    with pytest.raises(ConfigError, match=says) as caught:
        picking(task, *pairs)
    assert "pick.yaml" in str(caught.value)


def test_a_real_arm_that_sees_an_object_or_only_drives_is_started(task):
    assert "actor" in picking(task, "observation:=image", "reward:=classifier")
    assert "actor" in picking(task, "observation:=image", "job:=label")
    assert "actor" not in picking(task, "roles:=arm")
    assert "actor" in picking(task, "actor.task.solved_by:=tool")
