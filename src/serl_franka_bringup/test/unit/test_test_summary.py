"""Counting test results: every way a run can look green without being so."""

import os
from pathlib import Path
from xml.etree.ElementTree import ParseError

import pytest

from serl_franka_bringup.test_summary import (
    Counts,
    Summary,
    count_results,
    format_summary,
    has_tests,
    main,
    queued_packages,
    summarize,
)

PYTEST = """<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="6">
<testcase classname="a.test_x" name="passes"/>
<testcase classname="a.test_x" name="fails"><failure message="m">t</failure></testcase>
<testcase classname="a.test_x" name="breaks"><failure/><error message="teardown"/></testcase>
<testcase classname="a.test_x" name="collect"><error message="collection failure"/></testcase>
<testcase classname="a.test_x" name="skips"><skipped type="pytest.skip"/></testcase>
<testcase classname="a.test_x" name="xfails"><skipped type="pytest.xfail"/></testcase>
</testsuite></testsuites>"""

GTEST = """<?xml version="1.0"?><testsuites tests="4" disabled="1" name="AllTests">
<testsuite name="Law"><testcase name="ok" status="run" result="completed" classname="p.Law"/>
<testcase name="off" status="notrun" result="suppressed" classname="p.Law"/>
<testcase name="skip" status="run" result="skipped" classname="p.Law"><skipped/></testcase>
<testcase name="bad" status="run" classname="p.Law"><failure message="1 != 2"/></testcase>
</testsuite></testsuites>"""

GOOD = '<testsuite><testcase classname="m" name="a"/><testcase classname="m" name="b"/></testsuite>'
EMPTY = '<testsuites><testsuite name="pytest" tests="0"/></testsuites>'


def workspace(root: Path, results: dict[str, str | None], states: dict[str, str] | None = None):
    """A workspace as colcon test leaves it: one result file or none per package."""
    lines = ["[0.000000] (-) TimerEvent: {}"]
    for name, text in results.items():
        package = root / "src" / name
        (package / "test").mkdir(parents=True)
        (package / "package.xml").write_text(f"<package><name>{name}</name></package>")
        (package / "test" / "test_it.py").write_text("")
        build = root / "build" / name
        build.mkdir(parents=True)
        if text is not None:
            (build / "pytest.xml").write_text(text)
        lines.append(f"[0.1] ({name}) JobQueued: {{'identifier': '{name}'}}")
        state = (states or {}).get(name, "Ended")
        lines.append(f"[0.2] ({name}) Job{state}: {{'identifier': '{name}', 'rc': 0}}")
    log = root / "log" / "latest_test"
    log.mkdir(parents=True)
    (log / "events.log").write_text("\n".join(lines))
    return root


def test_pytest_document():
    counts = count_results(PYTEST)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 3, 2)
    assert counts.failures == ("a.test_x.fails", "a.test_x.breaks", "a.test_x.collect")


def test_gtest_document_with_disabled_and_skipped():
    counts = count_results(GTEST)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 2)
    assert counts.failures == ("p.Law.bad",)


def test_other_xml_is_not_counted():
    assert count_results("<Site><Testing/></Site>") is None


def test_cut_off_document_is_an_error():
    with pytest.raises(ParseError):
        count_results(PYTEST[:-30])


def test_counts_add():
    total = Counts(1, 1, 0, ("x",)) + Counts(2, 0, 3)
    assert total == Counts(3, 1, 3, ("x",))
    assert total.total == 7


def test_all_packages_are_summed(tmp_path):
    summary = summarize(workspace(tmp_path, {"one": GOOD, "two": GTEST}), since=0.0)
    assert summary.total == Counts(3, 1, 2, ("p.Law.bad",))
    assert summary.problems == ()
    assert not summary.ok


def test_green_run(tmp_path, capsys):
    root = workspace(tmp_path, {"one": GOOD})
    assert main(["--root", str(root)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


@pytest.mark.parametrize("text", [None, EMPTY, "<testsuite><testcase"])
def test_package_without_usable_results_is_a_problem(tmp_path, text):
    summary = summarize(workspace(tmp_path, {"one": GOOD, "two": text}), since=0.0)
    assert summary.total.failed == 0
    assert len(summary.problems) >= 1
    assert "two" in summary.problems[0]
    assert not summary.ok


def test_results_of_an_earlier_run_do_not_count(tmp_path):
    root = workspace(tmp_path, {"one": GOOD, "two": GOOD})
    os.utime(root / "build" / "two" / "pytest.xml", (1000.0, 1000.0))
    summary = summarize(root, since=2000.0)
    assert summary.total.passed == 2
    assert not summary.ok


@pytest.mark.parametrize("state", ["Skipped", "Queued"])
def test_interrupted_package_is_a_problem(tmp_path, state):
    root = workspace(tmp_path, {"one": GOOD, "two": GOOD}, {"two": state})
    assert not summarize(root, since=0.0).ok


def test_package_without_test_sources_may_have_no_results(tmp_path):
    root = workspace(tmp_path, {"one": GOOD, "messages": None})
    (root / "src" / "messages" / "test" / "test_it.py").unlink()
    assert not has_tests(root / "src" / "messages")
    summary = summarize(root, since=0.0)
    assert summary.ok
    assert "no tests" in format_summary(summary)


def test_unselected_package_is_left_out(tmp_path):
    root = workspace(tmp_path, {"one": GOOD, "two": GTEST})
    log = root / "log" / "latest_test" / "events.log"
    log.write_text("\n".join(line for line in log.read_text().splitlines() if "two" not in line))
    assert summarize(root, since=0.0).total == Counts(2, 0, 0)


def test_colcon_that_did_not_start_is_a_problem(tmp_path):
    assert not summarize(tmp_path, since=0.0).ok
    root = workspace(tmp_path, {"one": GOOD})
    os.utime(root / "log" / "latest_test" / "events.log", (1000.0, 1000.0))
    assert not summarize(root, since=2000.0).ok


def test_nothing_counted_is_not_ok():
    assert not Summary().ok
    assert format_summary(Summary()).splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_job_states():
    events = "\n".join(
        [
            "[0.1] (a) JobQueued: {}",
            "[0.1] (b) JobQueued: {}",
            "[0.2] (a) StdoutLine: {'line': b'(b) JobEnded: x'}",
            "[0.3] (a) JobEnded: {'rc': 1}",
        ]
    )
    assert queued_packages(events) == {"a": "ended", "b": "queued"}
