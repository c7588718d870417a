"""The state of the sources can be made again from the commit and what was kept beside it."""

from __future__ import annotations

import subprocess

import pytest

from serl_franka_bringup import source_state
from serl_franka_bringup.source_state import git_state, source_diff


def git(where, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", str(where), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A commit with one file in a folder."""
    root = tmp_path / "checkout"
    (root / "src").mkdir(parents=True)
    (root / "src" / "old.py").write_text("a = 1\n")
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


def test_a_clean_checkout_is_its_commit(checkout):
    state = git_state(checkout / "src")
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    assert source_diff(checkout / "src") == ""


def test_changed_staged_and_new_files_can_be_put_back(checkout, tmp_path):
    (checkout / "src" / "old.py").write_text("a = 2\n")
    (checkout / "staged.py").write_text("b = 3\n")
    git(checkout, "add", "staged.py")
    (checkout / "new file.py").write_text("c = 4\n")
    assert git_state(checkout / "src")["dirty"] is True
    kept = tmp_path / "source.diff"
    kept.write_text(source_diff(checkout / "src"))
    again = tmp_path / "again"
    git(tmp_path, "clone", "-q", str(checkout), str(again))
    git(again, "apply", str(kept))
    assert (again / "src" / "old.py").read_text() == "a = 2\n"
    assert (again / "staged.py").read_text() == "b = 3\n"
    assert (again / "new file.py").read_text() == "c = 4\n"


def test_what_is_too_long_is_cut_and_says_so(checkout, monkeypatch):
    monkeypatch.setattr(source_state, "LONGEST_DIFF", 300)
    for name in "abc":
        (checkout / name).write_text("x\n" * 200)
    text = source_diff(checkout)
    assert len(text) < 400
    assert text.endswith("# cut here: longer than 300 bytes\n")


def test_outside_a_checkout_nothing_is_known(tmp_path):
    assert git_state(tmp_path) == {}
    assert source_diff(tmp_path) == ""
