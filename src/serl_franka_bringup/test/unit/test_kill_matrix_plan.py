"""The plan of the killed run, and its log as it is read afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from serl_franka_bringup import kill_matrix
from serl_franka_bringup.kill_plan import Span

PCB = str(Path(__file__).resolve().parents[2] / "config" / "pcb.yaml")


@pytest.fixture
def plan(tmp_path):
    words = ["--task", PCB, "--runs", str(tmp_path), "--seed", "3", "--max-steps", "900"]
    return kill_matrix.plan_matrix(kill_matrix.parse([*words, "--set", "learner.max_lag=8"]))


def test_the_run_keeps_everything_in_its_own_directory(plan, tmp_path):
    by_name = {node.name: node.parameters for node in plan.nodes}
    assert plan.directory == tmp_path / "pcb-seed3"
    assert by_name["actor"]["journal"] == str(plan.directory / "journal.jsonl")
    assert by_name["learner"]["demonstrations_dir"] == str(plan.directory / "demonstrations")
    assert by_name["learner"]["log_dir"] == str(kill_matrix.Places(plan.directory).log)
    assert by_name["learner"]["max_lag"] == 8
    assert by_name["sim"]
    assert by_name["expert"]


def test_the_kills_are_spread_over_what_the_run_does(plan):
    assert kill_matrix.span_of(plan) == Span(20, 200, 900)


def test_a_damaged_file_of_the_log_is_told_and_the_rest_is_read(tmp_path):
    places = kill_matrix.Places(tmp_path)
    places.log.mkdir()
    (places.log / "n000001-aaaaaaaa-000000.mcap").write_bytes(b"\x89MCAP")
    unreadable: list[str] = []
    assert list(places.episodes(unreadable)) == []
    assert len(unreadable) == 1
    assert "n000001-aaaaaaaa-000000.mcap" in unreadable[0]


def test_an_unknown_kind_is_named(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["kill_matrix", "--task", PCB, "--kinds", "sim,camera"])
    assert kill_matrix.main() == 2
    assert "camera" in capsys.readouterr().out
