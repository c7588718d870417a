"""A task's nodes under `ros2 launch`: restarted as the supervisor does it, ended with the job."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from launch.actions import LogInfo, OpaqueFunction, TimerAction
from launch.events import Shutdown
from launch.events.process import ProcessExited

from launch import Action, LaunchContext
from serl_franka_bringup.graph import JOB_NODE, Node
from serl_franka_bringup.job import has_job, namespace_of
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.respawn import Lives
from serl_franka_bringup.ros_monitor import Monitor

LISTEN_PERIOD = 0.5  # [s]

OnExit = Callable[[ProcessExited, LaunchContext], list[Action] | None]
MakeAction = Callable[[Node, OnExit], Action]


class JobFailed(RuntimeError):
    """The job, or a node that it needs, ended badly: launch stops with exit code 1."""


class LaunchJob:
    """Decides about every process that ends, and watches what the job says."""

    def __init__(
        self,
        nodes: Sequence[Node],
        make_action: MakeAction,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.progress = Progress(clock())
        self._nodes = nodes
        self._make_action = make_action
        self._clock = clock
        self._lives = {node.name: Lives(node.respawn) for node in nodes}

    def start(self) -> list[Action]:
        """Every node's first process."""
        return [self._start(node) for node in self._nodes]

    def _start(self, node: Node) -> Action:
        self._lives[node.name].begin(self._clock(), self.progress.work)
        return self._make_action(node, lambda event, context: self._end(node, event, context))

    def _end(self, node: Node, event: ProcessExited, context: LaunchContext) -> list[Action] | None:
        """What follows from a process' end.

        Raises:
          JobFailed: the node is vital and stays dead.
        """
        if context.is_shutdown or self._phase() == "done":
            return None
        delay = self._lives[node.name].end(self._clock(), event.returncode, self.progress.work)
        if delay is not None:
            again = OpaqueFunction(function=lambda _: [self._start(node)])
            told = LogInfo(msg=f"{node.name} died, restarted in {delay:.0f} s")
            return [told, TimerAction(period=delay, actions=[again])]
        if node.vital:
            raise JobFailed(f"{node.name} died (exit code {event.returncode}), not restarted")
        return [LogInfo(msg=f"the run goes on without {node.name}")]

    async def watch(self, context: LaunchContext) -> None:
        """Listens until the job says done, which ends the launch.

        Raises:
          JobFailed: the job says so, with its reason.
        """
        domain = int(os.environ.get("ROS_DOMAIN_ID") or 0)
        monitor = Monitor(self.progress, domain, namespace_of(self._nodes))
        listening = None
        try:
            while not self._is_done():
                listening = context.asyncio_loop.run_in_executor(
                    None, monitor.listen, LISTEN_PERIOD
                )
                await asyncio.shield(listening)
            await context.emit_event(Shutdown(reason="the job is done"))
        except (
            asyncio.CancelledError
        ):  # by the shutdown; launch takes a cancelled task for an error
            return
        finally:
            if listening is not None:
                await listening
            monitor.close()

    def _is_done(self) -> bool:
        """Takes in what has been heard."""
        for name, lives in self._lives.items():
            lives.notice(self.progress.is_up(name, lives.started_at))
        if self._phase() == "failed":
            raise JobFailed(self.progress.statuses[JOB_NODE].detail)
        return self._phase() == "done"

    def _phase(self) -> str:
        """Of the job; drivers alone have none."""
        return self.progress.phase(JOB_NODE) if has_job(self._nodes) else ""
