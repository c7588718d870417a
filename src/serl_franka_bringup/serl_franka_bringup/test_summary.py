"""What a run of `colcon test` amounts to, counted from the result files under build/.

Needs only the standard library and runs by path, so that `./serl test` can count even
when no package could be built.
"""

from __future__ import annotations

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

JOB_LINE = re.compile(r"^\[[\d.]+\] \(([^)]+)\) Job(Queued|Ended|Skipped):(.*)$")
TEST_SOURCE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.(py|cpp|cc)$")


@dataclass(frozen=True)
class Counts:
    """Numbers of test cases by outcome, and the names of those that failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Summary:
    """Counts by package, and what makes the run worthless even if nothing failed."""

    packages: dict[str, Counts] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def total(self) -> Counts:
        return sum(self.packages.values(), Counts())

    @property
    def ok(self) -> bool:
        return self.total.failed == 0 and self.total.total > 0 and not self.problems


def count_results(text: str | bytes) -> Counts | None:
    """Count the test cases of one JUnit or gtest XML document.

    A case that failed and then also broke in its teardown counts once, as failed.

    Returns:
      None for XML that holds no JUnit results, such as ctest's own Test.xml.

    Raises:
      xml.etree.ElementTree.ParseError: the document is cut off or not XML.
    """
    root = ElementTree.fromstring(text)
    if root.tag not in ("testsuites", "testsuite"):
        return None
    outcomes: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    for case in root.iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        if case.find("failure") is not None or case.find("error") is not None:
            outcomes["failed"].append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            outcomes["skipped"].append(name)
        else:
            outcomes["passed"].append(name)
    return Counts(
        len(outcomes["passed"]),
        len(outcomes["failed"]),
        len(outcomes["skipped"]),
        tuple(outcomes["failed"]),
    )


def find_packages(source: Path) -> dict[str, Path]:
    """Folder of every package below `source`, by the name its package.xml gives."""
    packages = {}
    for manifest in sorted(source.rglob("package.xml")):
        name = ElementTree.parse(manifest).getroot().findtext("name")
        if name:
            packages[name.strip()] = manifest.parent
    return packages


def has_tests(package: Path) -> bool:
    """Whether the package holds test sources under test/ or tests/."""
    return any(
        TEST_SOURCE.search(path.as_posix())
        for folder in ("test", "tests")
        for path in (package / folder).rglob("*")
    )


def queued_packages(events: str) -> dict[str, str]:
    """Packages that colcon set out to test, from its events.log.

    Returns:
      For each package `ended`, `skipped` or, when it was interrupted, `queued`.
    """
    jobs: dict[str, str] = {}
    for line in events.splitlines():
        match = JOB_LINE.match(line)
        if match:
            name, event, _ = match.groups()
            jobs[name] = event.lower()
    return jobs


def count_package(build: Path, since: float) -> tuple[Counts, list[str]]:
    """Counts from the result files of one package that were written at or after `since`.

    Args:
      build: the package's build folder.
      since: seconds since the epoch; older files are of an earlier run.

    Returns:
      The counts, and a sentence for every file that cannot be read.
    """
    counts, problems = Counts(), []
    for path in sorted(build.rglob("*.xml")):
        if path.stat().st_mtime < since:
            continue
        try:
            found = count_results(path.read_bytes())
        except ElementTree.ParseError as error:
            problems.append(f"{path} cannot be read: {error}")
            continue
        counts += found or Counts()
    return counts, problems


def summarize(root: Path, since: float) -> Summary:
    """Sum up the run of `colcon test` in workspace `root` that began at `since`."""
    log = root / "log" / "latest_test" / "events.log"
    if not log.is_file() or log.stat().st_mtime < since:
        return Summary(problems=("colcon test did not run",))
    sources = find_packages(root / "src")
    packages: dict[str, Counts] = {}
    problems: list[str] = []
    for name, state in queued_packages(log.read_text(errors="replace")).items():
        counts, unreadable = count_package(root / "build" / name, since)
        packages[name] = counts
        problems += unreadable
        if state != "ended":
            problems.append(f"{name}: its tests did not run to the end ({state})")
        elif counts.total == 0 and (name not in sources or has_tests(sources[name])):
            problems.append(f"{name}: has tests, but no result of them was found")
    return Summary(packages, tuple(problems))


def format_summary(summary: Summary) -> str:
    """The table of packages, then failures and problems, then the counts as the last line."""
    lines = [""]
    width = max((len(name) for name in summary.packages), default=0)
    for name, counts in sorted(summary.packages.items()):
        lines.append(f"{name:<{width}}  {counts if counts.total else 'no tests'}")
    lines += [f"FAILED  {failure}" for failure in summary.total.failures]
    lines += [f"PROBLEM {problem}" for problem in summary.problems]
    if summary.total.total == 0:
        lines.append("PROBLEM no test was counted")
    return "\n".join([*lines, str(summary.total)])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count the results of colcon test.")
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace")
    parser.add_argument("--since", type=float, default=0.0, help="start of the run, epoch [s]")
    options = parser.parse_args(arguments)
    summary = summarize(options.root, options.since)
    print(format_summary(summary))
    return 0 if summary.ok else 1


if __name__ == "__main__":
    sys.exit(main())
