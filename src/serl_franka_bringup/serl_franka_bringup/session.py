"""One run of a node graph: processes, monitor and view, from start to the job's end."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from serl_controllers.domain import Domain
from serl_franka_bringup.command_line import ros_arguments, write_parameters
from serl_franka_bringup.executable import find_executable
from serl_franka_bringup.graph import Node
from serl_franka_bringup.job import namespace_of
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.run_directory import RunDirectory
from serl_franka_bringup.supervisor import Death, Program, Supervisor
from serl_franka_bringup.terminal import kept_terminal
from serl_franka_bringup.view import View, open_view

if TYPE_CHECKING:
    from serl_franka_bringup.ros_monitor import Monitor

FINAL_PHASES = ("done", "failed")
LISTEN_PERIOD = 0.1  # [s]


@dataclass(frozen=True)
class Ending:
    """How a session ended."""

    how: str  # "done", "failed", "died" (a node, beyond its limit), "interrupted" or "stopped"
    reason: str  # one sentence; empty when done
    progress: Progress
    wall_s: float  # from the first process to the end of the job

    @property
    def succeeded(self) -> bool:
        """The job came to its end."""
        return self.how == "done"


class Companion(Protocol):
    """Something that goes along with a session; called in its loop, about ten times a second."""

    def begin(self, domain: int) -> None:
        """Before the first process starts, in this ROS domain."""

    def attend(self, supervisor: Supervisor, progress: Progress, deaths: Sequence[Death]) -> str:
        """After every look at the processes; `deaths` are those since the last call.

        A text ends the session with it as the reason; an empty one lets it go on.
        """

    def end(self) -> None:
        """While the processes still run, however the session ended."""


class Interrupts:
    """Counts Ctrl-C, SIGTERM and SIGHUP instead of dying of them."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.count = 0
        self._before = {number: signal.getsignal(number) for number in self.SIGNALS}

    def __enter__(self) -> Interrupts:
        for number in self.SIGNALS:
            signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1


def make_programs(nodes: Sequence[Node], directory: RunDirectory) -> list[Program]:
    """The processes of a graph; writes each node's parameter file."""
    programs = []
    for node in nodes:
        path = write_parameters(node, directory)
        program = str(find_executable(node.package, node.executable))
        command = [program, *ros_arguments(node, path)]
        programs.append(Program(node.name, tuple(command), node.environment, node.respawn))
    return programs


def run_session(
    nodes: Sequence[Node],
    directory: RunDirectory,
    say: Callable[[str], None] = print,
    job_node: str = "actor",
    companions: Sequence[Companion] = (),
) -> Ending:
    """Runs the graph until `job_node` says done or failed, a vital node stays dead, or Ctrl-C."""
    from serl_franka_bringup.ros_monitor import Monitor

    domain = Domain(directory.path)
    progress = Progress(time.monotonic())
    chosen = "chosen for this run" if domain.chosen_here else "from the environment"
    say(f"ROS_DOMAIN_ID {domain.id} ({chosen})")
    programs = make_programs(nodes, directory)
    environment = {"ROS_DOMAIN_ID": str(domain.id)}
    supervisor = Supervisor(programs, directory.path / "logs", environment)
    vital = frozenset(node.name for node in nodes if node.vital)
    try:
        with (
            kept_terminal(),
            Interrupts() as interrupts,
            Monitor(progress, domain.id, namespace_of(nodes)) as monitor,
            ExitStack() as ends,
        ):
            for companion in companions:
                companion.begin(domain.id)
                ends.callback(companion.end)
            with supervisor, open_view(progress, sys.stdout) as view:
                supervisor.start()
                ending = _Loop(
                    supervisor, monitor, progress, view, interrupts, job_node, companions, vital
                ).run()
                ends.close()
                view.say("stopping")
                supervisor.stop(hurry=lambda: interrupts.count > 1)
    finally:
        domain.close()
    return ending


@dataclass(frozen=True)
class _Loop:
    """What a session does until it ends."""

    supervisor: Supervisor
    monitor: Monitor
    progress: Progress
    view: View
    interrupts: Interrupts
    job_node: str
    companions: Sequence[Companion]
    vital: frozenset[str]  # names of the nodes that a run ends with

    def run(self) -> Ending:
        """Until the job, a node or the user ends it."""
        while True:
            self.monitor.listen(LISTEN_PERIOD)
            deaths = self.supervisor.poll(self.progress.is_up, self.progress.work)
            how, reason = self._tell(deaths)
            for companion in self.companions:
                if text := companion.attend(self.supervisor, self.progress, deaths):
                    how, reason = "stopped", text
            phase = self.progress.phase(self.job_node)
            if phase in FINAL_PHASES:
                how, reason = phase, self.progress.statuses[self.job_node].detail
            if self.interrupts.count:
                how, reason = "interrupted", "stopped by the user"
            if how:
                wall = time.monotonic() - self.progress.started_at
                return Ending(how, "" if how == "done" else reason, self.progress, wall)
            self.view.update()

    def _tell(self, deaths: Sequence[Death]) -> tuple[str, str]:
        """Says who died; how and why the session ends if a vital one stays dead."""
        how, reason = "", ""
        for death in deaths:
            self.view.say(str(death))
            if self.progress.phase(self.job_node) == "done":
                continue
            for line in death.last_lines if death.code not in (0, -signal.SIGKILL) else ():
                self.view.say(f"  {death.name} | {line}")
            if death.restart_in is not None:
                continue
            if death.name in self.vital:
                how, reason = "died", str(death)
            else:
                self.view.say(f"the run goes on without {death.name}")
        return how, reason
