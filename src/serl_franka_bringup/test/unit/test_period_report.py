"""Control periods from recorded stamps: between which steps they lie, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from serl_actor.recorder import SENT
from serl_franka_bringup import period_report
from serl_franka_bringup.period_report import FINAL, TrainingTime, make_report, measure
from serl_franka_bringup.periods import (
    STAMPS,
    Step,
    distribution,
    draw,
    periods,
    resolution,
    steps_of,
)
from serl_franka_bringup.progress import Progress, Status
from serl_franka_bringup.session import Ending
from serl_learner.types import Record, Source

MS = 10**6
SESSION = b"s" * 16


def step(number: int, state_ms: float, sent_ms: float = 0.0, episode: int = 0) -> Step:
    return Step(SESSION, episode, number, round(state_ms * MS), round(sent_ms * MS))


def record(number: int, **fields) -> Record:
    given = {"action": np.zeros(6), "extras": {SENT: np.asarray(7 + number, np.int64)}, **fields}
    return Record(SESSION, number, 0, number, {}, stamp_ns=100 * number, **given)


def test_steps_are_those_of_the_policy_in_real_time():
    records = [
        record(0),
        record(1, source=Source.DEMO),
        record(2, extras={}),
        record(3),
        record(4, action=None, last=True),
    ]
    assert steps_of(records) == [Step(SESSION, 0, 0, 0, 7), Step(SESSION, 0, 3, 300, 10)]


def test_a_period_lies_between_consecutive_steps_of_one_episode():
    steps = [
        step(0, 0.0, 1.0),
        step(1, 100.0, 103.0),
        step(3, 900.0, 900.0),  # 2 is missing
        step(0, 1000.0, 1000.0, episode=1),
        step(1, 1104.0, 1100.0, episode=1),
    ]
    for order in (steps, steps[::-1]):
        assert sorted(periods(order, "state")) == pytest.approx([0.100, 0.104])
        assert sorted(periods(order, "sent")) == pytest.approx([0.100, 0.102])
    assert len(periods(steps[2:4], "state")) == 0


def test_the_distribution_is_that_of_what_is_too_long():
    found = np.array([0.1] * 98 + [0.104, 0.112])
    said = distribution(found, 0.1)
    assert (said["periods"], said["late_5_ms"]) == (100, 1)
    assert said["overrun_p50_s"] == pytest.approx(0.0)
    assert said["overrun_p99_s"] == pytest.approx(np.percentile(found, 99) - 0.1)
    assert 0.004 < said["overrun_p99_s"] < 0.0042
    assert said["overrun_max_s"] == pytest.approx(0.012)
    with pytest.raises(ValueError, match="no two consecutive steps"):
        distribution(np.array([]), 0.1)


def test_the_resolution_of_stamps_is_found():
    steps = [step(i, ms) for i, ms in enumerate((0.0, 100.0, 204.0, 300.0))]
    assert resolution(steps, "state") == pytest.approx(0.004)
    assert resolution(steps[:1], "state") == 0.0


def status(phase: str) -> Status:
    return Status(phase=phase, driver="", waiting_for="", detail="", received_at=0.0)


def test_the_time_counts_from_the_first_update_in_training():
    now = [5.0]
    watch, progress = TrainingTime(10.0, 50, lambda: now[0]), Progress(started_at=0.0)
    progress.add_status("actor", status("training"))
    assert watch.attend(None, progress, ()) == ""
    now[0] = 8.0
    progress.add_metrics("learner", {"learner/updates": 16.0})
    progress.add_metrics("actor", {"actor/env_steps": 250.0})
    assert watch.attend(None, progress, ()) == ""
    now[0] = 17.9
    assert watch.attend(None, progress, ()) == ""
    now[0] = 18.0
    progress.add_metrics("actor", {"actor/env_steps": 340.0})
    progress.add_metrics("learner", {"learner/updates": 96.0, "learner/online_steps": 389.0})
    assert watch.attend(None, progress, ()) == ""
    assert (watch.began, watch.ended, watch.updates) == (8.0, 18.0, (16.0, 96.0))
    assert watch.env_steps == (250.0, 340.0)
    now[0] = 20.0
    assert watch.attend(None, progress, ()) == ""  # the last episode is not in the log yet
    progress.add_metrics("learner", {"learner/online_steps": 390.0})
    assert watch.attend(None, progress, ()) == FINAL
    assert watch.ended == 18.0
    assert [watch.counts(step(0, 0.0, 1e3 * s)) for s in (7.9, 8.1, 18.1)] == [False, True, False]


def test_a_learner_that_does_not_log_is_waited_for_in_vain_only_for_a_while():
    now = [0.0]
    watch, progress = TrainingTime(10.0, 50, lambda: now[0]), Progress(started_at=0.0)
    progress.add_status("actor", status("training"))
    progress.add_metrics("learner", {"learner/updates": 1.0, "learner/online_steps": 1.0})
    progress.add_metrics("actor", {"actor/env_steps": 100.0})
    said = []
    for now[0] in (0.0, 10.0, 9.0 + period_report.GRACE, 10.0 + period_report.GRACE):
        said.append(watch.attend(None, progress, ()))
    assert said == ["", "", "", FINAL]


def ended(duration: float, env_steps: int = 61) -> tuple[TrainingTime, Ending]:
    watch = TrainingTime(duration, 50)
    watch.env_steps = (0.0, float(env_steps))
    watch.began, watch.ended, watch.updates = 0.0, duration, (8.0, 808.0)
    return watch, Ending("stopped", FINAL, Progress(started_at=0.0), duration)


def report_of(steps: list[Step], watch: TrainingTime, ending: Ending) -> dict:
    return make_report(*measure(steps, watch), watch, ending, nominal=0.1, limit=0.005)


def test_a_late_command_fails_though_the_states_are_in_time():
    count = 60
    sent = np.cumsum([0.0] + [100.0, 108.0] * (count // 2))
    steps = [step(i, 100.0 * i, s) for i, s in enumerate(sent)]
    report = report_of(steps, *ended(10.0))
    held = {check["name"].split("'")[1]: check["holds"] for check in report["checks"][4:]}
    assert held == {"state": True, "sent": False}
    assert not report["passed"]
    assert report["updates_per_s"] == pytest.approx(80.0)
    assert report["stamps"]["sent"]["overrun_max_s"] == pytest.approx(0.008)
    assert report["stamps"]["state"]["periods"] == count


def test_without_steps_nothing_holds():
    report = report_of([], *ended(10.0))
    assert [check["holds"] for check in report["checks"]] == [True] * 3 + [False] * 3


def test_steps_that_are_not_in_the_log_are_missed():
    steps = [step(i, 100.0 * i, 100.0 * i) for i in range(60)]
    for done, passed in ((63, True), (64, False)):
        report = report_of(steps, *ended(10.0, done))
        assert report["passed"] is passed


def test_the_session_is_paced_by_the_clock(tmp_path):
    given = period_report.parse(["--runs", str(tmp_path), "--observation", "state"])
    nodes = {node.name: node.parameters for node in period_report.plan_session(given).nodes}
    assert nodes["sim"]["realtime"] is True
    assert nodes["sim"]["state_rate"] == 250.0
    assert nodes["actor"]["lockstep"] is False
    assert nodes["learner"]["spare_cores"] == 1


def test_a_picture_is_drawn(tmp_path):
    found = {stamp: np.array([0.1, 0.101, 0.12]) for stamp in STAMPS}
    draw(found, 0.1, 0.005, tmp_path / "out" / "period.png")
    assert (tmp_path / "out" / "period.png").stat().st_size > 1000
