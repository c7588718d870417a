"""Tests of one package in several processes: what is counted, and which packages take but one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serl_franka_bringup.test_summary import Counts, count_results

SOURCE = Path(__file__).resolve().parents[3]
SEVERAL = ("-n", "auto", "--dist", "loadfile", "--max-worker-restart", "0")
PROCESS = "import os\n\n\ndef test_process():\n    assert 'PYTEST_XDIST_WORKER' {} os.environ\n"
SOUND = PROCESS.format("in")
FAILING = (
    "import pytest\n\n\ndef test_a():\n    assert 1 == 2\n\n\ndef test_b():\n    pytest.skip()\n"
)
DYING = "import os\n\n\ndef test_c():\n    os._exit(3)\n\n\ndef test_d():\n    pass\n"


@pytest.fixture
def tested(tmp_path):
    """Runs pytest over files of tests, as colcon does; its output and what was counted."""

    def run(*arguments, **files):
        (tmp_path / "test").mkdir()
        for name, content in files.items():
            (tmp_path / "test" / f"{name}.py").write_text(content)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--junit-xml=pytest.xml", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_XDIST_AUTO_NUM_WORKERS": "2"},
            capture_output=True,
            text=True,
        )
        return done, count_results((tmp_path / "pytest.xml").read_bytes())

    return run


def test_it_is_how_the_entry_point_tests():
    assert f"({' '.join(SEVERAL)})" in (SOURCE.parent / "serl").read_text()


def test_every_test_counts_once_and_a_failure_shows(tested):
    done, counts = tested(*SEVERAL, test_sound=SOUND, test_failing=FAILING)
    assert done.returncode == 1
    assert str(counts) == str(Counts(passed=1, failed=1, skipped=1))
    assert counts.failures == ("test.test_failing.test_a",)
    assert "assert 1 == 2" in done.stdout


def test_a_test_that_takes_its_process_down_is_a_failure_by_name(tested):
    done, counts = tested(*SEVERAL, test_dying=DYING)
    assert done.returncode == 1
    assert counts.failed == 1
    assert "test_dying.py::test_c" in done.stdout


@pytest.mark.parametrize("package", ["serl_sim", "serl_franka_bringup"])
@pytest.mark.parametrize("arguments", [SEVERAL, ("-p", "no:xdist")])
def test_packages_whose_tests_keep_time_take_one_process(tested, package, arguments):
    conftest = (SOURCE / package / "test" / "conftest.py").read_text()
    done, counts = tested(*arguments, conftest=conftest, test_process=PROCESS.format("not in"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert counts == Counts(passed=1)
