"""A reward from images through ROS: frames are recorded, a classifier is trained on them, and a run
goes by what its node says."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from serl_command import node_processes, write_tiny_task

from serl_learner.rewards.model_header import VICE_MODEL, read_header
from serl_learner.ros_log import read_episode
from serl_learner.types import Record, Source

OVER = "reward/probability"


def records_in(directory: Path) -> list[Record]:
    paths = sorted(directory.glob("*.mcap"))
    return [record for path in paths for record in read_episode(path).records]


@pytest.mark.slow
def test_from_labelled_frames_to_a_run_that_the_classifier_rewards(start, tmp_path):
    write_tiny_task(tmp_path / "seeing.yaml", "image")
    record = start("record", "seeing.yaml", "--rewards", "--positives", "12", "--negatives", "30")
    assert record.end() == 0, record.output.read_text()
    frames = records_in(tmp_path / "runs" / "seeing" / "rewards" / "episodes")
    labels = [bool(frame.extras["label/success"]) for frame in frames]
    assert labels.count(True) >= 12
    assert labels.count(False) >= 30
    assert {frame.source for frame in frames} == {Source.EVAL}

    train = start("train-reward", "seeing.yaml", "--rate", "0.5", "--json", "trained.json")
    assert train.end() == 0, train.output.read_text()
    trained = json.loads((tmp_path / "trained.json").read_text())
    assert sum(trained["trained_on"]) + sum(trained["judged_on"]) == len(frames)

    short = ("--demos", "0", "--max-steps", "60", "--episodes", "1")
    run = start("run", "seeing.yaml", *short, "reward:=classifier", "--json", "run.json")
    assert run.end() == 0, run.output.read_text()
    result = json.loads((tmp_path / "run.json").read_text())
    assert "true_success_sampled" in result
    assert not node_processes(tmp_path)
    judged = records_in(Path(result["run_dir"]) / "episodes")
    assert {Source.POLICY, Source.EVAL} <= {record.source for record in judged}
    assert all(OVER in record.extras and "label/success" in record.extras for record in judged)
    rewarded = [following for one, following in pairwise(judged) if one.reward == 1.0]
    assert all(record.success for record in rewarded)
    assert all(float(record.extras[OVER]) >= trained["threshold"] for record in rewarded)
    # Every success was rewarded, and nothing else was.
    assert len(rewarded) == sum(record.success for record in judged)

    few = ("learner.agent.vice.first_updates:=5", "learner.training_starts:=20")
    run = start("run", "seeing.yaml", *short, "reward:=vice", *few, "--json", "vice.json")
    assert run.end() == 0, run.output.read_text()
    result = json.loads((tmp_path / "vice.json").read_text())
    assert result["updates"] > 0
    assert "true_success_sampled" in result
    directory = Path(result["run_dir"])
    published = read_header(directory / "checkpoints" / VICE_MODEL)
    assert set(published["sizes"]) == {"side", "wrist"}
    assert all(OVER in record.extras for record in records_in(directory / "episodes"))
    assert not node_processes(tmp_path)
