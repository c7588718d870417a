"""What a task is learned from: arm state or cameras, through the graph to every node."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from serl_actor.camera_views import CamerasConfig
from serl_franka_bringup import cli, config, graph, job_command, plan
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.robots import SIM_CAMERAS
from serl_franka_bringup.simulation_client import load_setup
from serl_franka_bringup.task import load_task
from serl_sim import scene
from serl_sim.config import CamerasConfig as RigConfig
from serl_sim.config import SceneConfig

CONFIG = Path(__file__).resolve().parents[2] / "config"
FR3 = ("robot:=fr3", "robot_ip:=172.16.0.2")
IMAGE = "observation:=image"


@pytest.fixture
def task(tmp_path) -> Path:
    """The task learned from images, with all files beside it; its cameras have serial numbers."""
    for name in ("controllers.yaml", "cameras.yaml"):
        shutil.copy(CONFIG / name, tmp_path / name)
    change(tmp_path / "cameras.yaml", wrist_1={"serial": "1"}, wrist_2={"serial": "2"})
    shutil.copy(CONFIG / "pcb.yaml", tmp_path / "pcb.yaml")
    change(tmp_path / "pcb.yaml", task={"observation": "image"})
    return tmp_path / "pcb.yaml"


def change(path: Path, **groups) -> None:
    content = yaml.safe_load(path.read_text())
    for name, values in groups.items():
        content.setdefault(name, {}).update(values)
    path.write_text(yaml.safe_dump(content))


def parameters(path: Path, *pairs: str) -> dict:
    arguments, overrides = graph.parse_arguments(pairs)
    nodes = graph.make_graph(load_task(path, graph.NODES), arguments, overrides)
    return graph.configuration(nodes)


def cameras(by_node: dict) -> CamerasConfig:
    """The actor's, as its node builds it."""
    tree = config.unflatten(by_node["actor"])
    return config.build(CamerasConfig, tree["cameras"], "actor.cameras")


def test_images_reach_the_nodes_that_make_and_see_them(task):
    by_node = parameters(task)
    assert cameras(by_node) == CamerasConfig(("wrist", "side"), 128)
    assert by_node["actor"]["task.frame"] == "fixture"
    sim = config.unflatten(by_node["sim"])
    assert config.build(RigConfig, sim["cameras"], "") == RigConfig(("wrist", "side"), 128, 128)
    assert sim["scene"]["socket_random_xy"] == 0.015


def test_with_state_there_are_no_cameras_and_the_socket_stays(task):
    by_node = parameters(task, "observation:=state")
    said = [name for values in by_node.values() for name in values]
    assert not [name for name in said if "camera" in name or "socket" in name or "frame" in name]


def test_the_argument_wins_over_the_file(task):
    change(task, task={"observation": "state"})
    assert "cameras.names" not in parameters(task)["actor"]
    assert "cameras.names" in parameters(task, IMAGE)["actor"]


def test_overrides_of_one_observation_hold_for_it_alone(task):
    change(
        task,
        image={"learner": {"utd_ratio": 4, "agent": {"encoder": {"pooling": "average"}}}},
        state={"learner": {"utd_ratio": 2}},
    )
    assert parameters(task)["learner"]["utd_ratio"] == 4
    assert parameters(task, "learner.utd_ratio:=1")["learner"]["utd_ratio"] == 1
    by_state = parameters(task, "observation:=state")["learner"]
    assert by_state["utd_ratio"] == 2
    assert "agent.encoder.pooling" not in by_state


def test_the_actor_gets_the_learners_encoder(task):
    by_node = parameters(
        task, "learner.agent.encoder.kind:=small", "learner.agent.encoder.stack:=2"
    )
    for node in ("actor", "learner"):
        assert by_node[node]["agent.encoder.kind"] == "small"
        assert by_node[node]["agent.encoder.stack"] == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cameras": []}, "observation is 'image', but cameras names none"),
        ({"cameras": ["wrist", "front"]}, "the simulated scene has no front; known: wrist, side"),
        ({"observation": "pixels"}, "observation is 'pixels', expected state or image"),
        ({"frame": "base"}, "frame is 'base', expected start or fixture"),
        ({"image_size": 0}, "image_size is 0"),
        ({"socket_random_xy": -0.01}, "socket_random_xy is -0.01"),
        ({"crop": {"wrist": [0, 64, 0, 64]}}, "crop is given for wrist, expected for none or"),
        ({"crop": {"wrist": [0, 64, 0, 64], "side": [5, 5, 0, 9]}}, "crop.side is rows 5 to 5"),
        ({"crop": {"wrist": [0, 64, 0]}}, "task.crop.wrist: expected 4 numbers, got 3"),
        ({"crop": [0, 64, 0, 64]}, "task.crop: expected a group of keys"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(task, values, message):
    change(task, task=values)
    with pytest.raises(ConfigError) as error:
        parameters(task)
    assert message in str(error.value)
    assert "pcb.yaml" in str(error.value)


def test_an_unknown_observation_is_refused():
    with pytest.raises(ConfigError, match="observation 'sound' is not state or image"):
        graph.parse_arguments(["observation:=sound"])


def test_an_unknown_node_below_an_observation_is_refused(task):
    change(task, image={"lerner": {"utd_ratio": 4}})
    with pytest.raises(ConfigError, match=r"pcb\.yaml: image\.lerner: unknown key; known: sim"):
        parameters(task)


def test_images_of_a_task_without_cameras_are_refused_with_its_file(task):
    change(task, task={"observation": "state", "cameras": []})
    with pytest.raises(ConfigError, match=r"pcb\.yaml: observation is 'image', but cameras"):
        parameters(task, IMAGE)


def test_the_simulated_scene_has_the_cameras_that_are_known():
    model = scene.build_model(SceneConfig())
    assert {model.camera(i).name for i in range(model.ncam)} == set(SIM_CAMERAS)


def test_on_a_real_arm_the_cameras_and_their_crops_are_those_of_its_file(task):
    change(task.parent / "cameras.yaml", wrist_2={"crop": [10, 470, 100, 540]})
    seen = cameras(parameters(task, *FR3))
    assert seen.crop_by_name == {"wrist_1": (0, 480, 80, 560), "wrist_2": (10, 470, 100, 540)}


def test_on_a_real_arm_the_task_may_choose_among_its_cameras(task):
    change(task, task={"cameras": ["wrist_2"]})
    assert cameras(parameters(task, *FR3)).crop_by_name == {"wrist_2": (0, 480, 80, 560)}
    change(task, task={"crop": {"wrist_2": [0, 400, 0, 400]}})
    assert cameras(parameters(task, *FR3)).crop_by_name == {"wrist_2": (0, 400, 0, 400)}


def test_a_camera_that_the_real_arm_lacks_is_named(task):
    change(task, task={"cameras": ["wrist_1", "front"]})
    with pytest.raises(ConfigError, match=r"front is not in .*cameras\.yaml; known: wrist_1"):
        parameters(task, *FR3)


def test_without_drivers_the_cameras_are_those_of_the_task(task):
    """Somebody else's nodes publish them."""
    assert cameras(parameters(task, *FR3, "cameras:=false")) == CamerasConfig(("wrist", "side"))


def directories(task: Path, root: Path, *pairs: str) -> tuple[Path, str]:
    made = plan.make_plan(str(task), pairs, root)
    return made.directory, made.arguments.demonstrations_dir


def test_both_variants_have_runs_and_demonstrations_of_their_own(task, tmp_path):
    image, shown = directories(task, tmp_path)
    state, told = directories(task, tmp_path, "observation:=state")
    assert image != state
    assert shown != told
    assert directories(task, tmp_path, IMAGE) == (image, shown)
    assert told == str(tmp_path / "pcb" / "demonstrations")


@pytest.mark.parametrize(
    "change", ["cameras.image_size:=64", "cameras.names:=[side]", "task.frame:=start"]
)
def test_demonstrations_of_other_pictures_are_not_mixed_up(task, tmp_path, change):
    _, plain = directories(task, tmp_path)
    assert directories(task, tmp_path, f"actor.{change}")[1] != plain
    assert directories(task, tmp_path, "learner.utd_ratio:=3", "seed:=4")[1] == plain


def test_the_learners_machine_needs_no_cameras_file_to_find_the_run(task, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "usable", tuple)
    robot = directories(task, tmp_path, *FR3)
    shutil.copy(CONFIG / "cameras.yaml", task.parent / "cameras.yaml")  # without serial numbers
    assert directories(task, tmp_path, *FR3, "roles:=learner") == robot


@pytest.mark.parametrize("verb", ["run", "eval"])
def test_state_is_an_option_and_goes_on_to_the_next_command(verb, task):
    given = cli.parse([verb, str(task), "--state"])
    made = job_command.plan_job(given)
    assert "cameras.names" not in graph.configuration(made.nodes)["actor"]
    assert job_command.repeat_command("eval", given) == f"./serl eval {task} --state"
    assert "--state" not in job_command.repeat_command("eval", cli.parse([verb, str(task)]))


def test_the_process_that_does_it_all_opens_no_camera_for_state(task):
    setup = load_setup(str(task), graph.Arguments(observation="state"))
    assert setup.client.images() == {}
    assert max(setup.client.fixture().distance(setup.task.target)) < 1e-12
