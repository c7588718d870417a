"""Shows a run in the terminal: a live panel on a tty, one line every few seconds elsewhere."""

from __future__ import annotations

import time
from typing import IO, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from serl_franka_bringup.graph import JOB_NODE
from serl_franka_bringup.progress import Progress

LINE_PERIOD = 5.0  # [s] between plain lines
FIGURES = (  # shown name, metric "node/name", format
    ("env steps", "actor/env_steps", "{:,.0f}"),
    ("episodes", "actor/episodes", "{:,.0f}"),
    ("success of last 20", "actor/success_last_20", "{:.0%}"),
    ("return", "actor/return_last_20", "{:.2f}"),
    ("episode length", "actor/length_last_20", "{:.0f}"),
    ("updates", "learner/updates", "{:,.0f}"),
    ("updates/s", "learner/updates_per_s", "{:.0f}"),
    ("update-to-data ratio", "learner/utd_ratio", "{:.2f}"),
    ("policy age", "actor/policy_age", "{:.1f} s"),
    ("env steps/s", "actor/env_steps_per_s", "{:.0f}"),
)


class View(Protocol):
    """What a session needs of the terminal."""

    def update(self) -> None:
        """Shows the newest state, if it is time to."""

    def say(self, line: str) -> None:
        """Prints a line that stays."""

    def __enter__(self) -> View: ...
    def __exit__(self, *_: object) -> None: ...


def open_view(progress: Progress, stream: IO[str]) -> View:
    """The view that fits the stream."""
    if stream.isatty():
        return LiveView(progress, Console(file=stream))
    return LineView(progress, stream)


def figures(progress: Progress) -> list[tuple[str, str]]:
    """Name and text of every figure that is known by now."""
    known = []
    for name, metric, template in FIGURES:
        value = progress.value(metric)
        if value is not None:
            known.append((name, template.format(value)))
    return known


def waiting(progress: Progress) -> list[str]:
    """One text for each node that waits: what for."""
    return [
        f"{node} waits for {status.waiting_for}"
        for node, status in sorted(progress.statuses.items())
        if status.waiting_for
    ]


def headline(progress: Progress, job_node: str = JOB_NODE) -> str:
    """Phase of the job and who drives."""
    status = progress.statuses.get(job_node)
    if status is None:
        return "starting"
    driver = f", {status.driver} drives" if status.driver else ""
    return f"{status.phase}{driver}"


def line(progress: Progress, elapsed: float) -> str:
    """The whole state in one line; `elapsed` [s]."""
    parts = [f"[{elapsed:5.0f} s] {headline(progress)}"]
    parts += [f"{name} {text}" for name, text in figures(progress)]
    return " | ".join(parts + waiting(progress))


class LineView:
    """One plain line every LINE_PERIOD, and whenever the job enters another phase."""

    def __init__(self, progress: Progress, stream: IO[str]) -> None:
        self._progress, self._stream = progress, stream
        self._last = 0.0
        self._phase = ""

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self) -> None:
        """A line, if one is due."""
        now, phase = time.monotonic(), self._progress.phase(JOB_NODE)
        if now - self._last >= LINE_PERIOD or phase != self._phase:
            self._last, self._phase = now, phase
            self.say(line(self._progress, now - self._progress.started_at))

    def say(self, line: str) -> None:
        """A line at once."""
        print(line, file=self._stream, flush=True)


class LiveView:
    """A panel that is redrawn in place; lines said go above it."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._live = Live(console=console, auto_refresh=False)
        self._last = 0.0

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.update(self._panel(), refresh=True)
        self._live.stop()

    def update(self) -> None:
        """Redraws a few times a second."""
        now = time.monotonic()
        if now - self._last >= 0.25:
            self._last = now
            self._live.update(self._panel(), refresh=True)

    def say(self, line: str) -> None:
        """A line that scrolls away above the panel."""
        self._console.print(line, markup=False, highlight=False)

    def _panel(self) -> Group:
        minutes, seconds = divmod(int(time.monotonic() - self._progress.started_at), 60)
        head = Text(f"{headline(self._progress)}   {minutes}:{seconds:02d}", "bold")
        numbers = Table.grid(padding=(0, 2))
        known = figures(self._progress)
        for left, right in zip(known[::2], [*known[1::2], ("", "")], strict=False):
            numbers.add_row(*left, *right)
        nodes = Table.grid(padding=(0, 2))
        for node, status in sorted(self._progress.statuses.items()):
            wait = Text(f"waits for {status.waiting_for}", "yellow") if status.waiting_for else None
            # The detail of a job that is done is its whole result, which is told afterwards.
            detail = "" if status.phase == "done" else status.detail
            nodes.add_row(node, status.phase, wait or Text(detail, no_wrap=True))
        return Group(head, numbers, nodes)
