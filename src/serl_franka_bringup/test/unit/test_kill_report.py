"""A kill matrix passes only if everything holds; each thing that does not is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serl_franka_bringup.kill_plan import Kill
from serl_franka_bringup.kill_report import Limits, Outcome, make_report, print_report
from serl_franka_bringup.killer import Survival
from serl_franka_bringup.log_audit import Audit, Fault
from serl_franka_bringup.output import write_json
from serl_franka_bringup.sightings import InFlight

SURVIVAL = Survival(
    kind="learner",
    phase="training",
    moment="checkpoint write",
    killed_at=110.0,
    env_steps=700,
    in_flight=InFlight(3, 40),
    trains=True,
    respawned_at=111.0,
    up=3.0,
    step=4.0,
    update=6.5,
)
GOOD = Outcome(
    planned=[Kill("learner", "checkpoint", 700, 0.1)],
    survivals=[SURVIVAL],
    began=100.0,
    result={"ended": "done", "reason": "", "success": 0.96, "curve": [(50, True)]},
    counters={"online_steps": 3500.0, "demonstrations": 20.0, "rejected_records": 0.0},
    audit=Audit((), 3600, 3610, 0, 3620, 4, 3500, 20),
    unreadable=(),
    torn_lines=0,
    withdrawn=(),
)


def broken(report) -> list[str]:
    return [check["name"] for check in report["checks"] if not check["holds"]]


def test_a_run_that_survived_passes(tmp_path, capsys):
    report = make_report(GOOD, Limits())
    assert report["passed"]
    (row,) = report["kills"]
    assert (row["time_s"], row["respawn_s"], row["resumed"]) == (10.0, 1.0, 6.5)
    assert report["kinds"] == {"learner": {"kills": 1, "median_s": 6.5, "worst_s": 6.5}}
    write_json(tmp_path / "report.json", report)
    print_report(report)
    assert "FAIL" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"result": {**GOOD.result, "ended": "died"}}, "the job ended"),
        ({"planned": [*GOOD.planned, GOOD.planned[0]]}, "every kill was carried out"),
        ({"survivals": [replace(SURVIVAL, update=10.5)]}, "resumed within 10 s of the respawn"),
        ({"survivals": [replace(SURVIVAL, update=None)]}, "resumed within 10 s of the respawn"),
        ({"audit": replace(GOOD.audit, acknowledged=0)}, "there is something to compare"),
        ({"unreadable": ["a.mcap is damaged"]}, "every file of the log can be read"),
        ({"withdrawn": ["session aa: below 8, then below 5"]}, "no acknowledgement taken back"),
        (
            {"counters": {**GOOD.counters, "online_steps": 3501.0}},
            "the learner's online_steps agree with the log",
        ),
        (
            {"counters": {**GOOD.counters, "demonstrations": None}},
            "the learner's demonstrations agree with the log",
        ),
        ({"result": {**GOOD.result, "success": 0.88}}, "success of at least 90%"),
        ({"result": {**GOOD.result, "success": None}}, "success of at least 90%"),
    ],
)
def test_each_thing_that_does_not_hold_is_named(changes, name, capsys):
    report = make_report(replace(GOOD, **changes), Limits())
    assert broken(report) == [name]
    assert not report["passed"]
    print_report(report)
    assert f"FAIL {name}" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["lost", "doubled", "mislabelled", "unknown"])
def test_each_kind_of_fault_fails_the_run(kind):
    audit = replace(GOOD.audit, faults=(Fault(kind, "aa" * 16, 12, "in a.mcap"),))
    report = make_report(replace(GOOD, audit=audit), Limits())
    assert broken(report) == [f"no record {kind}"]
    assert report["audit"]["faults"] == [f"{kind}: 12 of session aaaaaaaa: in a.mcap"]


def test_when_training_is_over_no_update_is_needed():
    ended = replace(SURVIVAL, update=None, over=True)
    assert make_report(replace(GOOD, survivals=[ended]), Limits())["passed"]
