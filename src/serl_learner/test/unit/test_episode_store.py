"""Files by age, whatever their clocks say; a write that fails leaves nothing."""

from __future__ import annotations

import errno
import os

import pytest
from session_files import episode

from serl_learner.atomic_file import write_file
from serl_learner.disk_space import DiskSpace, NoSpace, free_bytes
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import stretch
from serl_learner.types import Source


@pytest.fixture
def store(tmp_path):
    """Reads the same episode from every file."""
    return EpisodeStore(tmp_path / "demos", tmp_path / "log", lambda _: made(0), lambda _: b"x")


def made(number, **fields):
    return stretch("a", b"s" * 16, episode(number, 6 * number, **fields))


def names(store):
    return [path.name for path, _ in store.episodes()]


def test_both_directories_are_read_in_the_order_in_which_they_were_written(store, tmp_path):
    paths = [
        store.write(made(0), b"x"),
        store.write(made(1, source=Source.DEMO, success=True), b"x"),
        store.write(made(2), b"x"),
    ]
    assert [p.parent.name for p in paths] == ["log", "demos", "log"]
    for age, path in enumerate(paths):
        os.utime(path, (1000.0 - age, 1000.0 - age))  # as after a copy
    assert names(store) == [p.name for p in paths]


def test_another_store_goes_on_counting(store, tmp_path):
    store.write(made(0, source=Source.DEMO, success=True), b"x")
    again = EpisodeStore(tmp_path / "demos", tmp_path / "log", lambda _: made(0), lambda _: b"x")
    assert again.write(made(0), b"x").name == "n000002-73737373-000000.mcap"


def test_files_of_other_names_count_as_older_by_their_times(store, tmp_path):
    store.write(made(0), b"x")
    for age, name in ((5, "b.mcap"), (3, "c.mcap"), (4, "a.mcap")):
        (tmp_path / "log" / name).touch()
        os.utime(tmp_path / "log" / name, (10**9 - age, 10**9 - age))
    assert names(store)[:3] == ["b.mcap", "a.mcap", "c.mcap"]


def test_what_is_kept_nowhere_is_not_encoded():
    store = EpisodeStore(None, None, None, None)
    assert store.encode(made(0)) == b""
    assert store.write(made(0), b"") is None


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    write_file(tmp_path / "a", b"old")

    def fail(_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(NoSpace, match=rf"disk space: {tmp_path} has .* MB, needs 0.0 MB"):
        DiskSpace().write(tmp_path / "a", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"old")]


def test_free_space_of_a_directory_that_is_not_there_yet(tmp_path):
    assert free_bytes(tmp_path / "a" / "b") == pytest.approx(free_bytes(tmp_path), rel=0.01)
