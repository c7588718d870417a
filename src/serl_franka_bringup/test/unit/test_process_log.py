"""Logs of processes: bounded, while a process keeps the file open, and its last words."""

from __future__ import annotations

import errno
from pathlib import Path

from serl_franka_bringup.process_log import ProcessLog


def test_a_log_that_is_too_long_becomes_the_older_one_under_the_writer(tmp_path):
    log = ProcessLog(tmp_path / "sim.log", limit=1000)
    with log.open() as stream:
        for number in range(500):
            stream.write(f"line {number:04d}\n".encode())
            stream.flush()
            log.rotate()
            assert log.path.stat().st_size <= 1000
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2000
        assert {path.name for path in tmp_path.iterdir()} == {"sim.log", "sim.log.1"}
        assert log.last_lines(count=1) == ("line 0499",)
    kept = (tmp_path / "sim.log.1").read_text() + log.path.read_text()
    lines = kept.splitlines()
    assert lines == [f"line {number:04d}" for number in range(500 - len(lines), 500)]


def test_below_the_limit_everything_is_kept(tmp_path):
    log = ProcessLog(tmp_path / "sim.log", limit=1000)
    with log.open() as stream:
        stream.write(b"x" * 999)
    log.rotate()
    assert [path.name for path in tmp_path.iterdir()] == ["sim.log"]


def test_last_lines_are_those_of_the_newest_process(tmp_path):
    log = ProcessLog(tmp_path / "sim.log")
    log.mark_start()
    for text in (b"first\n", b"second\nand last\n"):
        with log.open() as stream:
            stream.write(text)
    assert log.last_lines() == ("second", "and last")
    assert log.last_lines(count=1) == ("and last",)


def test_on_a_full_disk_the_log_is_emptied_and_says_so(tmp_path, monkeypatch):
    def half_a_copy(source, target):
        Path(target).write_bytes(Path(source).read_bytes()[:500])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("serl_franka_bringup.process_log.shutil.copyfile", half_a_copy)
    log = ProcessLog(tmp_path / "sim.log", limit=1000)
    with log.open() as stream:
        stream.write(b"x" * 1000)
        stream.flush()
        log.rotate()
        stream.write(b"goes on\n")
    assert [path.name for path in tmp_path.iterdir()] == ["sim.log"]
    first, second = log.last_lines()
    assert first.startswith("--- what was here is lost: ")
    assert "No space left" in first
    assert second == "goes on"


def test_a_log_that_cannot_even_be_emptied_stops_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    log = ProcessLog(tmp_path / "sim.log", limit=1000)
    with log.open() as stream:
        stream.write(b"x" * 1000)
    monkeypatch.setattr("serl_franka_bringup.process_log.shutil.copyfile", refuse)
    monkeypatch.setattr("serl_franka_bringup.process_log.os.truncate", refuse)
    log.rotate()
    assert log.path.stat().st_size == 1000
