"""Demonstrations recorded by the real processes, though the learner is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from serl_command import node_processes, wait_for


def test_case09_episodes_that_are_recorded_are_whole_whoever_is_killed(start, tmp_path):
    demos = tmp_path / "demos"
    words = ("record", "tiny.yaml", "-n", "4", "--failures", "-o", str(demos))
    recording = start(*words, "--json", "record.json")
    wait_for(lambda: any(demos.glob("*.mcap")), "a demonstration")
    os.kill(node_processes(tmp_path)["learner"], signal.SIGKILL)
    assert recording.end() == 0, recording.output.read_text()
    result = json.loads((tmp_path / "record.json").read_text())
    assert result["demonstrations"] == 4
    assert not list(Path(result["run_dir"]).glob("checkpoints/*"))
    with Reader(demos) as reader:  # another's, of bags with metadata.yaml
        names = {connection.msgtype for connection in reader.connections}
    assert names == {"serl_interfaces/msg/Transition"}
    with AnyReader([demos]) as reader:
        found = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages()]
    assert sum(message.last and message.success for message in found) == 4

    checked = start("data", "check", str(demos), "--task", "tiny.yaml", "--json", "check.json")
    assert checked.end() == 0, checked.output.read_text()
    summary = json.loads((tmp_path / "check.json").read_text())
    assert summary["demonstrations"] == 4
