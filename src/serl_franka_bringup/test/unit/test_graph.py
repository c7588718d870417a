"""The graph of a task: projection, overrides, roles, and errors that name file and key."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from serl_actor.transition_sender import SenderConfig
from serl_franka_bringup import graph, operators, plan
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.projection import BOX_MARGIN
from serl_franka_bringup.task import load_task
from serl_learner.episode_log import LogConfig
from serl_learner.learner_node import NodeConfig

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"


def write_task(tmp_path: Path, **changes) -> Path:
    content = yaml.safe_load(PCB.read_text())
    content.update(changes)
    path = tmp_path / "pcb.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def parameters(path: Path = PCB, *pairs: str) -> dict:
    arguments, overrides = graph.parse_arguments(pairs)
    nodes = graph.make_graph(load_task(path, graph.NODES), arguments, overrides)
    return graph.configuration(nodes)


def test_one_figure_reaches_every_node_that_needs_it():
    by_node = parameters()
    target = [0.5669, 0.0021, 0.0536]
    assert by_node["sim"]["scene.target_position"] == target
    assert by_node["expert"]["expert.target_position"] == target
    assert by_node["actor"]["task.target_position"] == target


def test_the_controllers_box_holds_the_environments():
    by_node = parameters()
    inner, outer = by_node["actor"], by_node["sim"]
    for axis, margin in enumerate(BOX_MARGIN):
        assert margin > 0
        lower = inner["task.box_lower"][axis] - margin
        assert outer["compliance.box_lower"][axis] == pytest.approx(lower)
        upper = inner["task.box_upper"][axis] + margin
        assert outer["compliance.box_upper"][axis] == pytest.approx(upper)


def test_the_command_line_wins_over_the_file_and_the_file_over_the_projection(tmp_path):
    path = write_task(tmp_path, sim={"scene": {"clearance": 0.00025, "friction": 0.2}})
    assert parameters(path)["sim"]["scene.clearance"] == 0.00025
    changed = parameters(path, "sim.scene.clearance:=0.001")["sim"]
    assert (changed["scene.clearance"], changed["scene.friction"]) == (0.001, 0.2)


def test_the_actor_gets_the_learners_agent():
    by_node = parameters(PCB, "learner.agent.hidden:=[64, 64]", "learner.utd_ratio:=8")
    assert by_node["actor"]["agent.hidden"] == by_node["learner"]["agent.hidden"] == [64, 64]
    assert "utd_ratio" not in by_node["actor"]


def test_arguments_win_over_the_file(tmp_path):
    path = write_task(tmp_path, actor={"job": {"max_env_steps": 7, "demonstrations": 9}}, image={})
    assert parameters(path)["actor"]["job.max_env_steps"] == 7
    assert parameters(path)["actor"]["job.demonstrations"] == 9
    assert parameters(path, "max_steps:=5")["actor"]["job.max_env_steps"] == 5
    assert parameters(path, "demos:=2")["actor"]["job.demonstrations"] == 2


def test_stop_criteria_reach_the_job_and_absent_ones_stay_unset():
    assert "job.minutes" not in parameters()["actor"]
    actor = parameters(PCB, "minutes:=5", "demos:=3", "max_steps:=100", "job:=evaluate")["actor"]
    job = {name: value for name, value in actor.items() if name.startswith("job.")}
    assert job == {
        "job.kind": "evaluate",
        "job.demonstrations": 3,
        "job.minutes": 5.0,
        "job.max_env_steps": 100,
    }


def test_an_unknown_key_in_the_task_names_file_and_key(tmp_path):
    task = yaml.safe_load(PCB.read_text())["task"] | {"clearence": 0.001}
    with pytest.raises(ConfigError, match=r"pcb\.yaml: task\.clearence: unknown key; known: "):
        parameters(write_task(tmp_path, task=task))


def test_an_unknown_node_names_file_and_key(tmp_path):
    with pytest.raises(
        ConfigError, match=r"pcb\.yaml: learnr: unknown key; known: task, state, image, judged, sim"
    ):
        parameters(write_task(tmp_path, learnr={"utd_ratio": 4}))


def test_a_wrong_number_of_values_is_told(tmp_path):
    task = yaml.safe_load(PCB.read_text())["task"] | {"threshold": [0.003, 0.1]}
    with pytest.raises(ConfigError, match=r"task\.threshold: expected 6 numbers, got 2"):
        parameters(write_task(tmp_path, task=task))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("sed:=1", "unknown argument 'sed'"),
        ("lerner.utd_ratio:=4", "unknown argument 'lerner.utd_ratio'"),
        ("seed=1", "not of the form name:=value"),
        ("seed:=one", "arguments.seed: expected int"),
        ("seed:=-1", "seed -1 is below 0"),
        ("reward:=dense", "reward 'dense' is not sparse"),
        ("roles:=both", "roles 'both' is not all or robot or learner or arm"),
        ("until:=95", "until 95.0 is above 1"),
    ],
)
def test_arguments_are_checked(pair, message):
    with pytest.raises(ConfigError) as error:
        graph.parse_arguments([pair])
    assert message in str(error.value)


def test_roles_split_the_graph_and_lose_nothing():
    def names(roles: str) -> set[str]:
        return set(parameters(PCB, f"roles:={roles}", "run_dir:=/run"))

    drawn = {"markers", "rviz2", "reward_classifier", *operators.DEVICES}  # only if asked for
    expected = {name for name, kind in graph.KINDS.items() if "sim" in kind.robots} - drawn
    assert names("robot") | names("learner") == names("all") == expected
    assert not names("robot") & names("learner")


def test_metrics_are_written_where_a_run_is_kept_and_not_for_an_evaluation():
    writer = parameters(PCB, "run_dir:=/run")["metrics_writer"]
    assert writer == {"directory": "/run/tensorboard"}
    assert "metrics_writer" not in parameters(PCB)
    assert "metrics_writer" not in parameters(PCB, "run_dir:=/run", "job:=evaluate")


def test_every_node_of_a_run_keeps_what_it_goes_by():
    def folders(**arguments) -> set:
        nodes = graph.make_graph(load_task(PCB, graph.NODES), graph.Arguments(**arguments))
        return {node.environment.get("SERL_PARAMETERS_FOLDER") for node in nodes}

    assert folders(run_dir="/run") == {"/run/params/effective"}
    assert folders(run_dir="/run", job="evaluate") == {"/run/evaluation/params/effective"}
    assert folders() == {None}


def test_only_evaluations_are_filmed():
    assert "video.directory" not in parameters(PCB, "job:=evaluate")["sim"]
    sim = parameters(PCB, "job:=evaluate", "video_dir:=/films")["sim"]
    assert sim["video.directory"] == "/films"
    with pytest.raises(ConfigError, match="video_dir '/films': only evaluations"):
        parameters(PCB, "video_dir:=/films")


def test_nothing_but_plain_values_reaches_a_parameter_file():
    def is_plain(value) -> bool:
        if isinstance(value, list):
            return len({type(item) for item in value}) == 1 and all(map(is_plain, value))
        return isinstance(value, (bool, int, float, str))

    for node, values in parameters().items():
        for name, value in values.items():
            assert is_plain(value), f"{node}.{name}: {value!r}"


def test_a_run_is_resumed_with_other_stop_criteria_and_is_another_with_other_parameters(tmp_path):
    def directory(*pairs: str) -> Path:
        return plan.make_plan(str(PCB), pairs, tmp_path).directory

    first = directory("seed:=1")
    assert directory("seed:=1", "minutes:=5", "max_steps:=100", "roles:=robot") == first
    assert directory("seed:=1", "job:=evaluate", "video_dir:=/x", "sim.video.fps:=10") == first
    assert directory("seed:=1", "metrics_writer.directory:=/x") == first
    assert directory("seed:=2") != first
    assert directory("seed:=1", "learner.batch_size:=64") != first
    assert directory("run_dir:=/somewhere") == Path("/somewhere")


def test_a_run_is_resumed_with_other_limits_of_its_log_and_its_sender(tmp_path):
    def directory(*pairs: str) -> Path:
        return plan.make_plan(str(PCB), pairs, tmp_path).directory

    plain = directory()
    learner = [f.name for kept in (LogConfig, NodeConfig) for f in dataclasses.fields(kept)]
    sender = [f"sender.{field.name}" for field in dataclasses.fields(SenderConfig)]
    for name in (*(f"learner.{n}" for n in learner), *(f"actor.{n}" for n in sender)):
        assert directory(f"{name}:=1") == plain, name
    assert directory("actor.journal:=j.jsonl", "learner.log_bytes:=100000000") == plain
    assert directory("learner.publish_every:=20") != plain


def test_small_machines_keep_the_threads_of_learner_and_actor_apart():
    task = load_task(PCB, graph.NODES)
    for cores in (2, 64):
        nodes = {n.name: n for n in graph.make_graph(task, graph.Arguments(), cores=cores)}
        assert "multi_thread_eigen=false" in nodes["actor"].environment["XLA_FLAGS"]
        assert nodes["actor"].environment["JAX_PLATFORMS"] == "cpu"
        assert ("XLA_FLAGS" in nodes["learner"].environment) == (cores == 2)


def test_a_task_that_moves_the_gripper_tells_every_node():
    by_node = parameters(PCB.with_name("pick.yaml"))
    assert by_node["sim"]["scene.kind"] == by_node["expert"]["expert.kind"] == "pick"
    assert by_node["actor"]["task.gripper"] == "learned"
    assert by_node["actor"]["task.solved_by"] == "object"
    assert by_node["learner"]["action_dim"] == 7
    assert by_node["learner"]["agent.grasp.enabled"] is True
    assert by_node["actor"]["agent.grasp.enabled"] is True


def test_who_says_how_the_gripper_moves_tells_the_learner_too():
    binary = parameters(PCB.with_name("pick.yaml"), "actor.task.gripper:=binary")
    assert binary["actor"]["task.gripper"] == "binary"
    assert binary["learner"]["action_dim"] == 7
    assert binary["learner"]["agent.grasp.enabled"] is False
    assert binary["actor"]["agent.grasp.enabled"] is False
    fixed = parameters(PCB.with_name("pick.yaml"), "actor.task.gripper:=fixed")
    assert not {"action_dim", "agent.grasp.enabled"} & set(fixed["learner"])
    learned = parameters(PCB, "actor.task.gripper:=learned")
    assert learned["learner"]["action_dim"] == 7
    assert learned["actor"]["agent.grasp.enabled"] is True


def test_an_insertion_has_neither_gripper_nor_object():
    by_node = parameters()
    assert "action_dim" not in by_node["learner"]
    assert "scene.kind" not in by_node["sim"]
    assert not {"task.gripper", "task.solved_by"} & set(by_node["actor"])


def test_picking_is_learned_from_cameras_where_asked_for_and_else_as_before():
    pick = PCB.with_name("pick.yaml")
    state, image = parameters(pick), parameters(pick, "observation:=image")
    assert image["sim"]["cameras.names"] == image["actor"]["cameras.names"] == ["wrist", "side"]
    assert image["learner"]["prior_bytes"] == 256 * 2**20
    assert not [name for node in state.values() for name in node if name.startswith("cameras.")]
    assert not {"prior_bytes", "replay_bytes"} & set(state["learner"])
    assert "task.frame" not in state["actor"]
