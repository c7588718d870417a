from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from serl_controllers.domain import DOMAINS, Domain
from serl_franka_bringup.run_directory import RunDirectory, RunDirectoryBusy, run_path


def test_the_path_depends_on_task_seed_and_every_value(tmp_path):
    paths = {
        run_path(tmp_path, "pcb", 0, {"a": 1}),
        run_path(tmp_path, "pcb", 1, {"a": 1}),
        run_path(tmp_path, "pcb", 0, {"a": 2}),
        run_path(tmp_path, "peg", 0, {"a": 1}),
    }
    assert len(paths) == 4
    assert run_path(tmp_path, "pcb", 0, {"b": 2, "a": 1}) == run_path(
        tmp_path, "pcb", 0, {"a": 1, "b": 2}
    )


def test_a_second_run_is_refused_and_told_who_runs(tmp_path):
    with RunDirectory(tmp_path / "run"):
        with pytest.raises(RunDirectoryBusy, match=f"process {os.getpid()}"):
            RunDirectory(tmp_path / "run")
        with pytest.raises(RunDirectoryBusy):
            RunDirectory(tmp_path / "run", fresh=True)
    RunDirectory(tmp_path / "run").close()


def test_a_killed_run_frees_its_directory(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from serl_franka_bringup.run_directory import RunDirectory\n"
        f"held = RunDirectory(Path({str(tmp_path)!r}) / 'run'); print('held', flush=True)\n"
        "time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunDirectoryBusy, match=f"process {holder.pid}"):
        RunDirectory(tmp_path / "run")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    RunDirectory(tmp_path / "run").close()


def test_fresh_moves_the_old_run_aside(tmp_path):
    with RunDirectory(tmp_path / "run") as run:
        (run.path / "checkpoint").write_text("old")
    with RunDirectory(tmp_path / "run", fresh=True) as run:
        assert not (run.path / "checkpoint").exists()
    (aside,) = tmp_path.glob("run.*")
    assert (aside / "checkpoint").read_text() == "old"


def test_parameters_and_configuration_are_written(tmp_path):
    with RunDirectory(tmp_path / "run") as run:
        path = run.write_parameters("sim", {"scene.clearance": 0.0005, "seed": 3})
        run.save_configuration({"task": "pcb"}, ["run", "pcb"])
    expected = {"/**/sim": {"ros__parameters": {"scene.clearance": 0.0005, "seed": 3}}}
    assert yaml.safe_load(path.read_text()) == expected
    saved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert saved["configuration"] == {"task": "pcb"}
    assert saved["command"] == ["run", "pcb"]


def test_what_an_earlier_start_was_made_with_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("serl_franka_bringup.run_directory.source_diff", lambda: "- a\n+ b\n")
    with RunDirectory(tmp_path / "run") as run:
        run.save_configuration({"task": "pcb"}, ["run", "pcb"])
        run.save_configuration({"task": "pcb"}, ["run", "pcb"])
        assert len(list(run.path.glob("config*.yaml"))) == 1
        run.save_configuration({"task": "pcb"}, ["run", "pcb", "--minutes", "5"])
        (before,) = run.path.glob("config-*.yaml")
    assert yaml.safe_load(before.read_text())["command"] == ["run", "pcb"]
    saved = yaml.safe_load((run.path / "config.yaml").read_text())
    assert saved["command"] == ["run", "pcb", "--minutes", "5"]
    assert (run.path / saved["git"]["diff"]).read_text() == "- a\n+ b\n"


def test_two_runs_get_two_domains_and_the_users_choice_wins():
    first, second = Domain(Path("a"), {}), Domain(Path("a"), {})
    try:
        assert first.id in DOMAINS
        assert second.id in DOMAINS
        assert first.id != second.id
        assert Domain(Path("a"), {"ROS_DOMAIN_ID": "7"}).id == 7
    finally:
        first.close()
        second.close()
    again = Domain(Path("a"), {})
    assert again.id == first.id
    again.close()
