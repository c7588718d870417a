"""`serl` command lines as processes, a tiny task for them, and their nodes' process ids.

The task is the PCB one made tiny: a wide threshold, short episodes, small networks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
DEADLINE = 180.0  # of anything that is waited for [s]
NODES = {"sim", "expert", "actor", "learner", "metrics_writer"}


def write_tiny_task(path: Path, observation: str = "state") -> Path:
    content = yaml.safe_load(PCB.read_text())
    content["task"].update(
        observation=observation,
        image_size=32,
        threshold=[0.05, 0.05, 0.03, 0.5, 0.5, 0.5],
        episode_steps=40,
        demonstrations=1,
    )
    content["learner"] = {
        "utd_ratio": 1,
        "batch_size": 16,
        "training_starts": 20,
        "publish_every": 2,
        "agent": {"critics": 2, "hidden": [16, 16]},
    }
    content["actor"] = {"job": {"max_env_steps": 150, "evaluation_episodes": 2}}
    content["image"] = {"actor": {"job": {"max_env_steps": 60}}}
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


def start_command(directory: Path, output: Path, *words: str, **environment: str) -> Command:
    """`serl` with these words, in a domain of its own choice unless `environment` says another."""
    clean = {k: v for k, v in os.environ.items() if k != "ROS_DOMAIN_ID"}
    with output.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serl_franka_bringup.cli", *words],
            cwd=directory,
            env={**clean, **environment},
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Command(process, output, directory / "runs")
