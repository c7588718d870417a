"""Every node is killed once in a short training; nothing acknowledged is lost or changed."""

from __future__ import annotations

import json
from collections import Counter

from serl_command import NODES


def test_every_kind_of_node_is_killed_and_nothing_is_lost(start, tmp_path):
    """Neither the success of so short a training nor the machine's speed is judged here.

    The long evaluation leaves the node that is killed last the time to come back.
    """
    options = ["--task", "tiny.yaml", "--kills", "1", "--max-steps", "2500", "--episodes", "80"]
    limits = ["--success", "0", "--resume-within", "120"]
    matrix = start("results", "kill-matrix", *options, *limits, "--out", str(tmp_path))
    assert matrix.process.wait(600) == 0, matrix.output.read_text()
    figures = json.loads((tmp_path / "kill-matrix-seed0.json").read_text())["figures"]
    assert figures["passed"]
    assert Counter(kill["kind"] for kill in figures["kills"]) == dict.fromkeys(NODES, 1)
    assert "training" in {kill["phase"] for kill in figures["kills"]}
    assert figures["audit"]["acknowledged"] >= 2500
    assert figures["audit"]["faults"] == []
