"""The real processes of the graph, through the command line, in a ROS domain of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import yaml
from serl_command import NODES, Command, node_processes, wait_for
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from serl_sim.gl_backend import GLError, find_backend


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
    # Ratio 1, but for the warm-up, the lag, and once more that for versions on their way.
    assert result["updates"] >= result["env_steps"] - 20 - 2 * 16
    assert not node_processes(tmp_path)
    directory = Path(result["run_dir"])
    saved = yaml.safe_load((directory / "config.yaml").read_text())
    assert set(saved["configuration"]) == NODES
    assert {path.stem for path in directory.glob("params/effective/*.yaml")} == NODES
    check_metrics(directory / "tensorboard", result)

    filmed = start("eval", "tiny.yaml", "--episodes", "1", "--json", "eval.json", *film_option())
    assert filmed.end() == 0, filmed.output.read_text()
    evaluation = json.loads((tmp_path / "eval.json").read_text())
    assert evaluation["evaluation_episodes"] == 1
    assert json.loads((directory / "result.json").read_text())["episodes"] > 1
    check_films(directory / "videos", filmed)


def check_metrics(directory: Path, result: dict) -> None:
    """Every number is documented, and the steps are those of the run, which only go up."""
    text = (Path(__file__).resolve().parents[4] / "docs" / "metrics.md").read_text()
    sections = {part.split()[0]: part for part in text.split("\n## ")[1:]}
    for node in ("actor", "learner", "sim"):
        events = EventAccumulator(str(directory / node))
        events.Reload()
        tags = events.Tags()["scalars"]
        rows = [line.split("|")[1] for line in sections[node].splitlines() if line.startswith("|")]
        documented = {f"{node}/{name}" for row in rows for name in re.findall("`(.+?)`", row)}
        assert tags
        assert set(tags) <= documented
        for tag in tags:
            steps = [event.step for event in events.Scalars(tag)]
            assert steps == sorted(steps)
    actor = EventAccumulator(str(directory / "actor"))
    actor.Reload()
    assert actor.Scalars("actor/env_steps")[-1].value == result["env_steps"]


def film_option() -> list[str]:
    """Films are made where they can be; where not, `eval --video` is refused (see test_cli)."""
    try:
        find_backend()
    except GLError:
        return []
    return ["--video"]


def check_films(directory: Path, evaluation: Command) -> None:
    """One of each policy, and the folder is told."""
    if not film_option():
        return
    (folder,) = directory.iterdir()
    assert evaluation.said(f"{folder} (2 episodes)")
    names = sorted(path.name for path in folder.iterdir())
    assert re.fullmatch(r"001_deterministic_policy_(success|not_solved)\.mp4", names[0])
    assert re.fullmatch(r"002_sampled_policy_(success|not_solved)\.mp4", names[1])


def test_ctrl_c_stops_everything_and_a_second_run_is_refused(start, tmp_path):
    run = start("run", "tiny.yaml")
    wait_for(lambda: set(node_processes(tmp_path)) == NODES, "the nodes to start")
    second = start("run", "tiny.yaml")
    assert second.end() == 2
    assert second.said(f"is running already: process {run.process.pid} holds ")

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
