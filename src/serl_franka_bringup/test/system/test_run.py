"""The real processes of the graph, through the command line, in a ROS domain of their own.

The task is the PCB one made tiny: a wide threshold, short episodes, small networks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
DEADLINE = 180.0  # of anything that is waited for [s]
NODES = {"sim", "expert", "actor", "learner", "metrics_writer"}


def write_tiny_task(path: Path) -> Path:
    content = yaml.safe_load(PCB.read_text())
    content["task"].update(
        threshold=[0.05, 0.05, 0.03, 0.5, 0.5, 0.5], episode_steps=40, demonstrations=1
    )
    content["learner"] = {
        "utd_ratio": 1,
        "batch_size": 16,
        "training_starts": 20,
        "publish_every": 2,
        "agent": {"critics": 2, "hidden": [16, 16]},
    }
    content["actor"] = {"job": {"max_env_steps": 150, "evaluation_episodes": 2}}
    path.write_text(yaml.safe_dump(content))
    return path


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited {DEADLINE:.0f} s for {what}"
        time.sleep(0.05)


def node_processes(directory: Path) -> dict[str, int]:
    """Process ids of the nodes whose parameter files lie in the directory, by node name."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        for word in words:
            if word.startswith(str(directory)) and "/params/" in word and "tied_exec" not in words:
                found[Path(word).stem] = int(entry.parent.name)
    return found


@dataclass
class Command:
    """A `serl` command line that runs."""

    process: subprocess.Popen
    output: Path
    directory: Path

    def said(self, text: str) -> bool:
        return text in self.output.read_text()

    def wait_until_said(self, text: str) -> None:
        wait_for(lambda: self.said(text) or self.process.poll() is not None, f"'{text}'")
        assert self.said(text), self.output.read_text()

    def end(self) -> int:
        return self.process.wait(DEADLINE)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    started: list[Command] = []
    environment = {k: v for k, v in os.environ.items() if k != "ROS_DOMAIN_ID"}

    def start(*words: str) -> Command:
        output = tmp_path / f"output{len(started)}.txt"
        with output.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "serl_franka_bringup.cli", *words],
                cwd=tmp_path,
                env=environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(Command(process, output, tmp_path / "runs"))
        return started[-1]

    write_tiny_task(tmp_path / "tiny.yaml")
    yield start
    for command in started:
        command.process.kill()
        command.process.wait()
    wait_for(lambda: not node_processes(tmp_path), "the nodes to die with their parent")


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
