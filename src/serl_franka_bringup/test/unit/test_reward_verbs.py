"""From `./serl record --rewards` over `train-reward` to `run reward:=classifier`: what each says
when something is missing, and that the one takes what the other wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from serl_franka_bringup import cli, graph, in_process_frames, labelled_frames
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.job_command import describe_evaluation
from serl_franka_bringup.plan import make_plan
from serl_franka_bringup.simulation_client import load_setup
from serl_learner.rewards.frames import BadFrames, counts
from serl_learner.types import Record, Source

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
IMAGE = ("reward:=classifier", "observation:=image")
SIZES = {"wrist": (128, 128), "side": (128, 128)}


def write_header(path: Path, model_id: str = "abc", cameras=("wrist", "side")) -> None:
    """A file of which only the header can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"model_id": model_id, "sizes": {name: [128, 128] for name in cameras}}
    path.write_bytes(b"serl-reward-1\n" + json.dumps(header).encode() + b"\nweights")


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "pcb" / "rewards" / "classifier.model"
    write_header(path)
    return path


def nodes(plan) -> dict[str, dict]:
    return {node.name: dict(node.parameters) for node in plan.nodes}


def test_a_missing_model_says_which_commands_make_it(tmp_path):
    with pytest.raises(ConfigError) as caught:
        make_plan(str(PCB), IMAGE, tmp_path)
    assert "./serl record pcb --rewards" in str(caught.value)
    assert "./serl train-reward pcb" in str(caught.value)
    assert str(tmp_path / "pcb" / "rewards" / "classifier.model") in str(caught.value)


def test_in_one_process_it_is_the_tasks_own_model_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = tmp_path / "other.yaml"
    task.write_text(PCB.read_text(encoding="utf-8"), encoding="utf-8")
    arguments = graph.Arguments(reward="classifier", observation="image")
    with pytest.raises(ConfigError) as caught:
        load_setup(str(task), arguments)
    assert str(tmp_path / "runs" / "other" / "rewards" / "classifier.model") in str(caught.value)


def test_without_pictures_there_is_nothing_to_judge(tmp_path, model):
    with pytest.raises(ConfigError, match="the observation is 'state'"):
        make_plan(str(PCB), ("reward:=classifier", "observation:=state"), tmp_path)


def test_the_classifier_is_part_of_the_graph_only_if_it_judges(tmp_path, model):
    judged = nodes(make_plan(str(PCB), IMAGE, tmp_path))
    assert judged["reward_classifier"] == {"model": str(model), "model_id": "abc"}
    assert judged["actor"]["reward.source"] == "classifier"
    sparse = nodes(make_plan(str(PCB), ("observation:=image",), tmp_path))
    assert "reward_classifier" not in sparse
    assert "reward.source" not in sparse["actor"]


def test_its_parameters_may_be_set(tmp_path, model):
    plan = make_plan(str(PCB), (*IMAGE, "reward_classifier.threshold:=0.8"), tmp_path)
    assert nodes(plan)["reward_classifier"]["threshold"] == 0.8


def test_another_model_is_another_run_but_another_place_is_not(tmp_path, model):
    def directory(*pairs):
        return make_plan(str(PCB), (*IMAGE, *pairs), tmp_path).directory

    before = directory()
    elsewhere = tmp_path / "elsewhere.model"
    write_header(elsewhere)
    assert directory(f"reward_model:={elsewhere}") == before
    write_header(model, "def")
    assert directory() != before
    assert make_plan(str(PCB), ("observation:=image",), tmp_path).directory != before


def test_a_model_of_other_cameras_is_refused(tmp_path, model):
    write_header(model, cameras=("wrist", "ceiling"))
    with pytest.raises(ConfigError, match="looks through ceiling, but the cameras .* wrist, side"):
        make_plan(str(PCB), IMAGE, tmp_path)


def test_a_damaged_model_is_refused(tmp_path, model):
    model.write_bytes(b"something else")
    with pytest.raises(ConfigError, match="is no reward classifier"):
        make_plan(str(PCB), IMAGE, tmp_path)


def test_a_run_is_planned_without_jax(tmp_path, model):
    code = "import sys; from pathlib import Path; from serl_franka_bringup.plan import make_plan; "
    code += f"make_plan({str(PCB)!r}, {IMAGE!r}, Path({str(tmp_path)!r})); "
    code += "sys.exit(any(name in sys.modules for name in ('jax', 'flax')))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_what_stands_below_judged_holds_with_a_reward_classifier_alone(tmp_path, model):
    steps = {
        reward: nodes(make_plan(str(PCB), (f"reward:={reward}", IMAGE[1]), tmp_path))["actor"][
            "job.max_env_steps"
        ]
        for reward in ("sparse", "classifier")
    }
    assert steps == {"sparse": 4800, "classifier": 7000}


def test_the_learners_machine_needs_no_model(tmp_path):
    plan = make_plan(str(PCB), (*IMAGE, "roles:=learner"), tmp_path)
    assert "reward_classifier" not in nodes(plan)


def test_recording_goes_to_the_tasks_own_directory_and_trains_nothing(tmp_path):
    plan = make_plan(str(PCB), ("job:=label", "positives:=10", "negatives:=30"), tmp_path)
    assert plan.directory == tmp_path / "pcb" / "rewards"
    found = nodes(plan)
    assert found["actor"]["job.kind"] == "label"
    assert found["actor"]["job.labels.positives"] == 10
    assert found["actor"]["job.labels.negatives"] == 30
    assert found["actor"]["cameras.names"] == ["wrist", "side"]
    assert found["learner"]["log_dir"] == str(plan.directory / "episodes")
    assert not {"checkpoint_dir", "demonstrations_dir", "features_dir"} & found["learner"].keys()
    assert "metrics_writer" not in found


def test_on_a_robot_an_operator_labels(tmp_path):
    pairs = ("job:=label", "robot:=fr3", "robot_ip:=10.0.0.2", "cameras:=false")
    parameters = {n.name: n.parameters for n in graph_of(tmp_path, pairs)}
    assert parameters["actor"]["job.labels.by"] == "operator"


def graph_of(tmp_path, pairs):
    arguments, overrides = graph.parse_arguments((*pairs, f"run_dir:={tmp_path}"))
    file = graph_task().observing("image")
    return graph.make_graph(file, arguments, overrides, cores=1)


def graph_task():
    from serl_franka_bringup.task import load_task

    return load_task(PCB, graph.NODES)


def test_training_without_frames_says_what_records_them(tmp_path, capsys):
    assert cli.main(["train-reward", str(PCB), "--runs", str(tmp_path)]) == 2
    assert "./serl record --rewards" in capsys.readouterr().err


def write_episode(directory: Path, number: int, labels, size=(128, 128), cameras=SIZES) -> None:
    """An episode as an actor sends it."""
    session = bytes([number]) * 16
    files = in_process_frames.EpisodeFiles(directory)
    for step, label in enumerate(labels):
        last = step == len(labels) - 1
        files(
            Record(
                session=session,
                seq=step,
                episode=number,
                step=step,
                observation={f"image/{name}": np.zeros((*size, 3), np.uint8) for name in cameras},
                action=None if last else np.zeros(6, np.float32),
                last=last,
                source=Source.EVAL,
                extras={"label/success": np.asarray(bool(label))},
            )
        )


def test_frames_are_read_as_they_were_written_and_thinned(tmp_path):
    write_episode(tmp_path, 0, [0] * 6 + [1] * 3)
    write_episode(tmp_path, 1, [0] * 4)
    assert counts(labelled_frames.read_frames(tmp_path, SIZES), 2) == [10, 3]
    assert counts(labelled_frames.read_frames(tmp_path, SIZES, limit=2), 2) == [4, 2]


def test_frames_of_another_size_or_without_a_camera_are_refused_with_their_file(tmp_path):
    write_episode(tmp_path, 0, [0, 1], cameras=("wrist",))
    with pytest.raises(BadFrames, match=r"n0.*mcap: step 0 .* camera 'side' is missing"):
        labelled_frames.read_frames(tmp_path, SIZES)
    with pytest.raises(BadFrames, match=r"'wrist' has images uint8 \[128, 128, 3\], expected"):
        labelled_frames.read_frames(tmp_path, {"wrist": (64, 64)})


@pytest.mark.parametrize(("labels", "lack"), [([0] * 4, "no positives"), ([1] * 4, "no negatives")])
def test_one_sided_frames_are_refused(tmp_path, capsys, labels, lack):
    for number in range(3):
        write_episode(tmp_path / "pcb" / "rewards" / "episodes", number, labels)
    assert cli.main(["train-reward", str(PCB), "--runs", str(tmp_path)]) == 2
    assert lack in capsys.readouterr().err


def test_no_cameras_no_reward():
    with pytest.raises(ConfigError, match="no cameras to learn a reward from"):
        labelled_frames.camera_sizes({})


def test_a_simulated_task_is_labelled_by_where_the_socket_is(tmp_path):
    """Without drawing: what the expert and chance do, and what it is called."""
    overrides = {
        "actor": {
            "cameras.names": (),
            "job.labels.positives": 14,
            "job.labels.negatives": 20,
            "job.labels.random_every": 2,
        },
        "sim": {"cameras.names": ()},
    }
    setup = load_setup(
        str(PCB), graph.Arguments(seed=1, job="label", observation="image"), overrides
    )
    result = in_process_frames.record_frames(setup, tmp_path)
    assert result["positives"] >= 14
    assert result["negatives"] >= 20
    assert len(list(tmp_path.glob("*.mcap"))) == result["episodes"] >= 2


def test_what_a_classifier_counted_is_shown_beside_the_truth():
    result = {
        "evaluation_episodes": 50,
        "success_sampled": 0.96,
        "interval_sampled": [0.86, 0.99],
        "mean_time_s_sampled": 2.0,
    }
    assert "truly" not in describe_evaluation(result, "sampled")
    text = describe_evaluation({**result, "true_success_sampled": 0.9}, "sampled")
    assert text.startswith("sampled policy: 48 of 50 = 96% (95 % interval 86%-99%), truly 90%")
