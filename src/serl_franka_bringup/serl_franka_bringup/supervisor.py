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
import sys
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from serl_franka_bringup import tied_exec


@dataclass(frozen=True)
class Respawn:
    """How often and how soon a process that died is started again."""

    limit: int = 0  # restarts in a row; 0: never
    first_delay: float = 1.0  # [s], doubled with each restart in a row
    longest_delay: float = 15.0  # [s]
    forget_after: float = 60.0  # [s] alive, after which earlier deaths no longer count

    def delay(self, restarts: int) -> float:
        """Wait before the restart after `restarts` earlier ones [s]."""
        return min(self.first_delay * 2.0**restarts, self.longest_delay)


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
        self.log = log
        self.process: subprocess.Popen | None = None
        self.started_at = 0.0
        self.start_at: float | None = None  # when to start it again
        self.restarts = 0
        self.was_ready = False
        self.log_begin = 0  # where the current process' part of the log begins

    def start(self, now: float, environment: Mapping[str, str]) -> None:
        """Starts the process, its output appended to the log."""
        command = [sys.executable, "-S", tied_exec.__file__, str(os.getpid())]
        with self.log.open("ab") as log:
            self.log_begin = log.tell()
            self.process = subprocess.Popen(
                [*command, *self.program.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, **self.program.environment},
                start_new_session=True,
            )
        self.started_at, self.start_at = now, None

    def signal(self, number: signal.Signals) -> None:
        """Signals the whole process group, including what an ended leader left in it."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def last_lines(self, count: int = 12, limit: int = 8192) -> tuple[str, ...]:
        """The end of what the current process wrote."""
        with self.log.open("rb") as log:
            log.seek(max(self.log_begin, self.log.stat().st_size - limit))
            text = log.read().decode(errors="replace")
        return tuple(text.splitlines()[-count:])


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
            with child.log.open("a", encoding="utf-8") as log:
                log.write(f"--- started {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            child.start(self._clock(), self._environment)

    def pids(self) -> dict[str, int]:
        """Process ids of the programs that run now."""
        return {
            child.program.name: child.process.pid
            for child in self._children
            if child.process is not None and child.process.returncode is None
        }

    def poll(self, ready: Container[str] | None = None) -> list[Death]:
        """Restarts what is due and returns the deaths since the last call.

        `ready` names the programs that have come up by now; one that dies without ever having
        been ready is not restarted: it would only fail again. None: all were.
        """
        now = self._clock()
        deaths = []
        for child in self._children:
            child.was_ready |= ready is None or child.program.name in ready
            if child.start_at is not None and now >= child.start_at:
                child.restarts += 1
                child.start(now, self._environment)
            elif child.process is not None and child.process.poll() is not None:
                deaths.append(self._bury(child, now))
        return deaths

    def _bury(self, child: _Child, now: float) -> Death:
        """Records a death and decides about the restart."""
        assert child.process is not None
        code = child.process.returncode
        child.signal(signal.SIGKILL)  # what it may have left behind in its group
        child.process = None
        respawn = child.program.respawn
        if now - child.started_at >= respawn.forget_after:
            child.restarts = 0
        restart_in = None
        if code != 0 and child.was_ready and child.restarts < respawn.limit:
            restart_in = respawn.delay(child.restarts)
            child.start_at = now + restart_in
        return Death(child.program.name, code, child.log, child.last_lines(), restart_in)

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
