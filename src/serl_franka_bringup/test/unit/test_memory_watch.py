"""Memory over time: sampled from real processes, judged by its slope."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from serl_franka_bringup.memory_soak import draw, make_report
from serl_franka_bringup.memory_watch import (
    MEBIBYTE,
    Memory,
    MemoryWatch,
    Sample,
    growth,
    names_of,
    read_memory,
    slope,
)
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.session import Ending
from serl_franka_bringup.supervisor import Program, Supervisor

SLEEP = (sys.executable, "-S", "-c", "import time; time.sleep(60)")


def memory(mebibytes: float) -> Memory:
    size = int(mebibytes * MEBIBYTE)
    return Memory(size, size, size)


def samples(resident, replay=(), limit=2 * MEBIBYTE) -> list[Sample]:
    """One sample a minute of a learner of so many MiB."""
    fills = [*replay, *[None] * (len(resident) - len(replay))]
    return [
        Sample(60.0 * i, {"learner": memory(r)}, fill, None if fill is None else limit)
        for i, (r, fill) in enumerate(zip(resident, fills, strict=True))
    ]


def test_the_slope_is_that_of_a_line_and_leaves_the_first_third_out():
    times = [float(i) for i in range(31)]
    assert slope(times, [3.0 + 0.5 * t for t in times]) == pytest.approx(0.5)
    assert slope(times, [100.0 * min(t, 10.0) for t in times]) == pytest.approx(0.0)
    assert slope(times[:2], [0.0, 1.0]) is None
    assert slope([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]) is None


def test_growth_is_in_mebibytes_per_hour():
    grown = samples([500.0 + i for i in range(30)])  # one MiB a minute
    assert growth(grown, "learner") == pytest.approx(60.0)
    assert growth(grown, "learner", "uss") == pytest.approx(60.0)
    assert growth(grown[:1], "learner") is None


def test_a_living_process_has_memory_and_an_ended_one_has_none():
    mine = read_memory(os.getpid())
    assert mine is not None
    assert mine.rss >= mine.pss >= mine.uss > MEBIBYTE
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    assert read_memory(ended.pid) is None


def test_the_watch_samples_every_period_and_ends_the_session(tmp_path):
    now = [100.0]
    watch = MemoryWatch(60.0, 5.0, clock=lambda: now[0])
    progress = Progress(now[0])
    progress.add_metrics("learner", {"replay_bytes": 10.0, "replay_limit": 20.0})
    with Supervisor([Program("sim", SLEEP)], tmp_path) as supervisor:
        supervisor.start()
        watch.begin(0)
        reasons = []
        for _ in range(61):
            reasons.append(watch.attend(supervisor, progress, []))
            now[0] += 1.0
    assert [reason for reason in reasons if reason] == ["the time is over"]
    assert [sample.time for sample in watch.samples] == [5.0 * i for i in range(13)]
    assert names_of(watch.samples) == ["supervisor", "sim"]
    assert (watch.samples[0].replay, watch.samples[0].replay_limit) == (10.0, 20.0)


def report(kept: list[Sample], deaths=(), how: str = "stopped"):
    watch = MemoryWatch(60.0, 5.0)
    watch.samples, watch.deaths = kept, list(deaths)
    return make_report(watch, Ending(how, "the time is over", Progress(0.0), 60.0), limit=20.0)


def broken(result) -> list[str]:
    return [check["name"] for check in result["checks"] if not check["holds"]]


FULL = [MEBIBYTE * min(2.0, 0.2 * i) for i in range(30)]


def test_flat_memory_passes_also_if_the_beginning_grew():
    kept = samples([100.0 * min(i, 6) for i in range(30)], FULL)
    assert report(kept)["passed"]


def test_each_thing_that_does_not_hold_is_named():
    flat = samples([500.0] * 30, FULL)
    assert broken(report(samples([500.0 + i for i in range(30)], FULL))) == [
        "learner grows by at most 20 MiB/h"
    ]
    assert broken(report(flat, deaths=["sim died"])) == ["no process died"]
    assert broken(report(flat, how="died")) == ["trained to the end of the time"]
    over = samples([500.0] * 30, FULL, limit=1.9 * MEBIBYTE)
    assert broken(report(over)) == ["replay within its limit"]
    assert broken(report(samples([500.0] * 30))) == ["replay within its limit"]


def test_a_picture_is_drawn(tmp_path):
    draw(samples([500.0] * 30, FULL), tmp_path / "out" / "memory.png")
    assert (tmp_path / "out" / "memory.png").stat().st_size > 1000
