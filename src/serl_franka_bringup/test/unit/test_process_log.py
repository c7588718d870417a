"""Logs of processes: bounded, while a process keeps the file open, and its last words."""

from __future__ import annotations

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
