"""The real processes of the graph, through the command line, in a ROS domain of their own."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import yaml
from serl_command import NODES, node_processes, wait_for


def test_from_demonstrations_to_evaluation_through_a_killed_learner(start, tmp_path):
    run = start("run", "tiny.yaml", "--json", "run.json")
    wait_for(lambda: any(tmp_path.glob("runs/tiny/demonstrations/*.mcap")), "a demonstration")
    run.wait_until_said("training, policy drives")
    os.kill(node_processes(tmp_path)["learner"], signal.SIGKILL)
    run.wait_until_said("learner died (killed by SIGKILL), restarted in")
    assert run.end() == 0, run.output.read_text()
    result = json.loads((tmp_path / "run.json").read_text())
    assert 150 <= result["env_steps"] < 190
    assert result["evaluation_episodes"] == 2
    assert result["success"] == result[f"success_{result['policy']}"]
    assert result["updates"] >= result["env_steps"] - 20 - 16  # ratio 1 but for warm-up and lag
    assert not node_processes(tmp_path)
    saved = yaml.safe_load((Path(result["run_dir"]) / "config.yaml").read_text())
    assert set(saved["configuration"]) == NODES

    again = start("eval", "tiny.yaml", "--episodes", "1", "--json", "eval.json")
    assert again.end() == 0, again.output.read_text()
    evaluation = json.loads((tmp_path / "eval.json").read_text())
    assert evaluation["evaluation_episodes"] == 1
    assert json.loads((Path(result["run_dir"]) / "result.json").read_text())["episodes"] > 1


def test_ctrl_c_stops_everything_and_a_second_run_is_refused(start, tmp_path):
    run = start("run", "tiny.yaml")
    wait_for(lambda: set(node_processes(tmp_path)) == NODES, "the nodes to start")
    second = start("run", "tiny.yaml")
    assert second.end() == 2
    assert second.said(f"is in use by process {run.process.pid}")

    run.wait_until_said("demonstrations")
    begin = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    assert time.monotonic() - begin < 5.0
    assert not node_processes(tmp_path)
    assert run.said("interrupted: stopped by the user")


def test_a_node_that_cannot_start_ends_the_run_with_its_own_words(start, tmp_path):
    run = start("run", "tiny.yaml", "sim.scene.clearence:=0.001", "--json", "run.json")
    assert run.end() == 1
    assert run.said("sim died (exit code 1), not restarted")
    assert run.said("scene.clearence")
    assert json.loads((tmp_path / "run.json").read_text())["success"] is None
