"""Starts processes, restarts those that may be restarted, and leaves none behind.

Each process has its own session and process group, writes to its own log file, and dies with
this process whatever happens to it. `poll` is called by the caller's loop: nothing here waits
except `stop`. Times are seconds of the given clock, which is steady.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from serl_franka_bringup import tied_exec
from serl_franka_bringup.process_log import ProcessLog
from serl_franka_bringup.respawn import Lives, Respawn

IsUp = Callable[[str, float], bool]
"""Whether the named program has come up since a time [s]."""


@dataclass(frozen=True)
class Program:
    """What to run under one name."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)  # added to ours
    respawn: Respawn = field(default_factory=Respawn)


@dataclass(frozen=True)
class Death:
    """One end of one process that nobody asked for (or that ended well: code 0)."""

    name: str
    code: int  # exit code; negative: the signal that killed it
    log: Path
    last_lines: tuple[str, ...]
    restart_in: float | None  # [s]; None: it stays dead

    def __str__(self) -> str:
        how = f"exit code {self.code}"
        if self.code < 0:
            how = f"killed by {signal.Signals(-self.code).name}"
        then = "not restarted"
        if self.restart_in is not None:
            then = f"restarted in {self.restart_in:.0f} s"
        return f"{self.name} died ({how}), {then}; log: {self.log}"


class _Child:
    """One program's current process and its history."""

    def __init__(self, program: Program, log: Path) -> None:
        self.program = program
        self.log = ProcessLog(log)
        self.process: subprocess.Popen | None = None
        self.lives = Lives(program.respawn)
        self.start_at: float | None = None  # when to start it again

    def start(self, now: float, work: int, environment: Mapping[str, str]) -> None:
        """Starts the process, its output appended to the log."""
        with self.log.open() as log:
            self.process = subprocess.Popen(
                [*tied_exec.prefix(), *self.program.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, **self.program.environment},
                start_new_session=True,
            )
        self.start_at = None
        self.lives.begin(now, work)

    def notice(self, is_up: IsUp) -> None:
        """Notes whether the current process has come up."""
        if self.process is not None:
            self.lives.notice(is_up(self.program.name, self.lives.started_at))

    def signal(self, number: signal.Signals) -> None:
        """Signals the whole process group, including what an ended leader left in it."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Supervisor:
    """Keeps a set of programs running."""

    def __init__(
        self,
        programs: Sequence[Program],
        log_directory: Path,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`environment` is added to this process' own for every program."""
        self._clock = clock
        self._environment = dict(environment or {})
        log_directory.mkdir(parents=True, exist_ok=True)
        self._children = [_Child(p, log_directory / f"{p.name}.log") for p in programs]

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts every program; the logs of an earlier run are kept, with a line between."""
        for child in self._children:
            child.log.mark_start()
            child.start(self._clock(), 0, self._environment)

    def pids(self) -> dict[str, int]:
        """Process ids of the programs that run now."""
        return {
            child.program.name: child.process.pid
            for child in self._children
            if child.process is not None and child.process.returncode is None
        }

    def started_at(self, name: str) -> float | None:
        """When the named program's process was started [s]; None: it does not run."""
        for child in self._children:
            if child.program.name == name and child.process is not None:
                return child.lives.started_at
        return None

    def poll(self, is_up: IsUp = lambda name, since: True, work: int = 0) -> list[Death]:
        """Restarts what is due and returns the deaths since the last call.

        Args:
          is_up: whether a program, by name, has come up since a time [s]. One that fails without
            ever having done so is not restarted; one that is killed is.
          work: a number that grows while the programs get on with what they are run for.
        """
        now = self._clock()
        deaths = []
        for child in self._children:
            child.notice(is_up)
            if child.start_at is not None and now >= child.start_at:
                child.start(now, work, self._environment)
            elif child.process is not None and child.process.poll() is not None:
                deaths.append(self._bury(child, now, work))
            child.log.rotate()
        return deaths

    def _bury(self, child: _Child, now: float, work: int) -> Death:
        """Records a death and decides about the restart."""
        assert child.process is not None
        code = child.process.returncode
        child.signal(signal.SIGKILL)  # what it may have left behind in its group
        restart_in = child.lives.end(now, code, work)
        if restart_in is not None:
            child.start_at = now + restart_in
        child.process = None
        lines = child.log.last_lines()
        return Death(child.program.name, code, child.log.path, lines, restart_in)

    def stop(
        self,
        hurry: Callable[[], bool] = lambda: False,
        patience: float = 3.0,
        kill_after: float = 4.0,
    ) -> dict[str, int]:
        """Ends every process: SIGINT, SIGTERM after `patience`, SIGKILL after `kill_after` [s].

        `hurry` returning True (a second Ctrl-C) skips to SIGKILL. Returns the exit codes of
        the processes that were still running.
        """
        alive = [(child, child.process) for child in self._children if child.process is not None]
        for child in self._children:
            child.start_at = None
        begin = self._clock()
        steps = [(0.0, signal.SIGINT), (patience, signal.SIGTERM), (kill_after, signal.SIGKILL)]
        while any(process.poll() is None for _, process in alive) and steps:
            elapsed = self._clock() - begin
            if hurry():
                steps = [(0.0, signal.SIGKILL)]
            if elapsed >= steps[0][0]:
                _, number = steps.pop(0)
                for child, process in alive:
                    if process.poll() is None:
                        child.signal(number)
            time.sleep(0.02)
        codes = {}
        for child, process in alive:
            child.signal(signal.SIGKILL)  # grandchildren, if any
            codes[child.program.name] = process.wait()
            child.process = None
        return codes
