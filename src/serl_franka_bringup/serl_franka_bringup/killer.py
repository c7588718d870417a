"""Carries out a plan of kills in a running session, and measures how each is survived."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from serl_franka_bringup.kill_plan import CHECKPOINT, DEMONSTRATIONS, STARTING, Kill
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.sightings import InFlight, Sightings
from serl_franka_bringup.supervisor import Death, Supervisor
from serl_franka_bringup.write_watch import WriteWatch

SLICE = 0.1  # [s] that one call may take
GLANCE = 0.001  # [s] between two looks for a checkpoint's write
WRITE_PATIENCE = 30.0  # [s] for a checkpoint's write to begin; then the kill comes without one


@dataclass(frozen=True)
class Survival:
    """One kill and what came of it. Times after the respawn [s]; None: has not happened.

    Attributes:
      kind: node that was killed.
      phase: of the job at the time.
      moment: "any", "starting" when the node had not come up, "checkpoint write", or "checkpoint
        written" when it was over too soon.
      killed_at: on the steady clock [s].
      env_steps: of the job at the time, as last heard.
      in_flight: records on their way.
      trains: updates were being done, so they must be done again.
      respawned_at: on the steady clock [s].
      up: until the node said what it does.
      step: until the next new control step was recorded.
      update: until the next new update; None also if none was due.
      over: training had ended by itself before another update.
    """

    kind: str
    phase: str
    moment: str
    killed_at: float
    env_steps: int
    in_flight: InFlight
    trains: bool
    respawned_at: float | None = None
    up: float | None = None
    step: float | None = None
    update: float | None = None
    over: bool = False

    @property
    def resumed(self) -> float | None:
        """From the respawn until all went on [s]; None: it does not yet."""
        update = self.update if self.trains and not self.over else 0.0
        step = 0.0 if self.moment == STARTING else self.step  # nothing went on that could go on
        if self.up is None or step is None or update is None:
            return None
        return max(self.up, step, update)


class Killer:
    """A session's companion. The next kill comes after the run has resumed from the last."""

    def __init__(
        self,
        plan: Sequence[Kill],
        sightings: Sightings,
        writes: WriteWatch,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`patience`: from a kill to the resumption [s]; later the session is ended."""
        self._plan = plan
        self._sightings = sightings
        self._writes = writes
        self._patience = patience
        self._clock = clock
        self._pause = pause
        self._steps = 0
        self._reached_at: float | None = None  # when the count of the next kill was reached
        self.survivals: list[Survival] = []

    def begin(self, domain: int) -> None:
        """Nothing to prepare."""

    def end(self) -> None:
        """Nothing to put away."""

    def attend(self, supervisor: Supervisor, progress: Progress, deaths: Sequence[Death]) -> str:
        """Follows the last kill or comes to the next; says why if the run does not resume."""
        self._steps = max(self._steps, int(progress.value("actor/env_steps") or 0))
        if any(death.name == "learner" for death in deaths):
            self._writes.forget()
        if self.survivals and self.survivals[-1].resumed is None:
            self.survivals[-1] = last = self._follow(self.survivals[-1], supervisor, progress)
            waited = self._clock() - last.killed_at
            if last.resumed is None and waited > self._patience:
                return f"not resumed {waited:.0f} s after {last.kind} was killed"
        elif len(self.survivals) < len(self._plan):
            self._approach(self._plan[len(self.survivals)], supervisor, progress)
        return ""

    def _follow(self, last: Survival, supervisor: Supervisor, progress: Progress) -> Survival:
        """What is known by now of the last kill's consequences."""
        started = supervisor.started_at(last.kind)
        if last.respawned_at is None:
            if started is None or started <= last.killed_at:
                return last
            last = replace(last, respawned_at=started)
        since = last.respawned_at
        assert since is not None
        step = self._sightings.first_step(since)
        update = self._sightings.first_update(since) if last.trains else None
        up = last.up
        if up is None and progress.is_up(last.kind, since):
            up = progress.statuses[last.kind].received_at - since
        return replace(
            last,
            up=up,
            step=None if step is None else step - since,
            update=None if update is None else update - since,
            over=progress.phase("actor") in ("evaluation", "done"),
        )

    def _approach(self, kill: Kill, supervisor: Supervisor, progress: Progress) -> None:
        """Kills, if it is time to."""
        started = supervisor.started_at(kill.kind)
        if started is None:
            return
        is_up = progress.is_up(kill.kind, started)
        if not is_up and kill.trigger != STARTING:
            return
        if self._reached_at is None and self._is_reached(kill, progress):
            self._reached_at = self._clock()
        if self._reached_at is None:
            return
        if kill.trigger == CHECKPOINT:
            patience = self._reached_at + WRITE_PATIENCE - self._clock()
            if not self._sees_write() and patience > 0.0:
                return
            self._pause(kill.delay)
        else:
            remaining = self._reached_at + kill.delay - self._clock()
            if remaining > SLICE:
                return
            self._pause(max(0.0, remaining))
        self._kill(kill, supervisor, progress, "any" if is_up else STARTING)

    def _is_reached(self, kill: Kill, progress: Progress) -> bool:
        phase = progress.phase("actor")
        if kill.trigger == STARTING:
            return True
        if kill.trigger == DEMONSTRATIONS:
            held = progress.value("learner/demonstrations") or 0
            return (phase == "demonstrations" and held >= kill.at) or phase == "training"
        return phase in ("warm-up", "training") and self._steps >= kill.at

    def _sees_write(self) -> bool:
        """Whether a checkpoint's write begins within a slice."""
        end = self._clock() + SLICE
        while not self._writes.under_way():
            if self._clock() >= end:
                return False
            self._pause(GLANCE)
        return True

    def _kill(self, kill: Kill, supervisor: Supervisor, progress: Progress, moment: str) -> None:
        in_flight = self._sightings.in_flight()
        killed_at = self._clock()
        os.kill(supervisor.pids()[kill.kind], signal.SIGKILL)
        if kill.trigger == CHECKPOINT:
            written = not self._writes.under_way()
            moment = "checkpoint written" if written else "checkpoint write"
        phase = progress.phase("actor")
        trains = phase == "training" and self._sightings.training
        survival = Survival(kill.kind, phase, moment, killed_at, self._steps, in_flight, trains)
        self.survivals.append(survival)
        self._reached_at = None
