"""./serl before set-up: help, refusals, and the line that says what to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def serl(tmp_path):
    """Runs the entry point of a bare clone, with no ROS sourced unless a test says so."""
    shutil.copy(ROOT / "serl", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")

    def run(*arguments, **environment):
        return subprocess.run(
            [tmp_path / "serl", *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    run.root = tmp_path
    return run


@pytest.fixture
def sourced(tmp_path):
    """What a sourced ROS 2 exports."""
    (tmp_path / "ros" / "share" / "rclpy").mkdir(parents=True)
    return {"ROS_DISTRO": "jazzy", "AMENT_PREFIX_PATH": str(tmp_path / "ros")}


def test_help_needs_no_set_up(serl):
    done = serl("--help")
    assert done.returncode == 0
    for verb in ("run", "record", "train-reward", "eval", "test", "bench", "doctor", "results"):
        assert verb in done.stdout
    assert not (serl.root / ".venv").exists()


@pytest.mark.parametrize("verb", ["setup", "build", "test"])
def test_help_of_the_shell_verbs(serl, verb):
    done = serl(verb, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: ./serl {verb}")
    assert not (serl.root / ".venv").exists()


def test_unknown_verb_is_named(serl):
    done = serl("fly")
    assert done.returncode != 0
    assert "unknown verb 'fly'" in done.stderr


def test_unknown_argument_of_setup_is_named(serl):
    done = serl("setup", "--fast")
    assert done.returncode != 0
    assert "'--fast'" in done.stderr


def test_missing_python_is_named(serl):
    done = serl("run", "pcb", SERL_PYTHON="/nowhere/python3")
    assert done.returncode != 0
    assert "/nowhere/python3" in done.stderr
    assert not (serl.root / ".venv").exists()


def test_unsuitable_python_says_what_is_supported(serl, tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\ncat >/dev/null\necho 'is Python 3.9; supported are 3.11 to 3.14'\n")
    old.chmod(0o755)
    done = serl("run", "pcb", SERL_PYTHON=str(old))
    assert done.returncode != 0
    assert "is Python 3.9" in done.stderr


def test_other_ros_distribution_is_refused(serl, sourced):
    done = serl("run", "pcb", **{**sourced, "ROS_DISTRO": "humble"})
    assert done.returncode != 0
    assert "humble" in done.stderr
    assert "SERL_ROS=wheels" in done.stderr


def test_system_ros_must_be_sourced(serl):
    done = serl("run", "pcb", SERL_ROS="system")
    assert done.returncode != 0
    assert "source" in done.stderr


def test_unknown_kind_of_ros_is_named(serl):
    done = serl("run", "pcb", SERL_ROS="docker")
    assert done.returncode != 0
    assert "'docker'" in done.stderr
