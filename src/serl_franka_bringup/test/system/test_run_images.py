"""A whole run from images through ROS: cameras, cached features, log, evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from serl_command import node_processes, write_tiny_task

from serl_learner.ros_log import read_episode
from serl_learner.types import Source

CAMERAS = ("wrist", "side")


def test_from_demonstrations_to_evaluation_from_images(start, tmp_path):
    write_tiny_task(tmp_path / "seeing.yaml", "image")
    run = start("run", "seeing.yaml", "--json", "run.json")
    assert run.end() == 0, run.output.read_text()
    result = json.loads((tmp_path / "run.json").read_text())
    assert 60 <= result["env_steps"] < 100
    assert result["updates"] > 0
    assert result["evaluation_episodes"] == 2
    assert not node_processes(tmp_path)
    assert any(tmp_path.glob("runs/seeing/demonstrations-image-*/*.mcap"))
    directory = Path(result["run_dir"])
    assert any((directory / "features").iterdir())
    episodes = [read_episode(path) for path in directory.glob("episodes/*.mcap")]
    records = [record for episode in episodes for record in episode.records]
    assert {Source.POLICY, Source.EVAL} <= {record.source for record in records}
    for record in records:
        assert "state/tcp_fine" not in record.observation
        for camera in CAMERAS:
            image = record.observation[f"image/{camera}"]
            assert (image.shape, image.dtype) == ((32, 32, 3), np.uint8)
            assert np.ptp(image) > 20  # something is to be seen
