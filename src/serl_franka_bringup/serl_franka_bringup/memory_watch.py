"""Resident memory of every process of a session, sampled; whether it grows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import psutil

from serl_franka_bringup.progress import Progress
from serl_franka_bringup.supervisor import Death, Supervisor

SUPERVISOR = "supervisor"
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Memory:
    """Of one process [bytes]: resident, its share of it, and what is its alone."""

    rss: int
    pss: int
    uss: int


@dataclass(frozen=True)
class Sample:
    """One look at all processes.

    Attributes:
      time: since the begin of the session [s].
      memory: by name; a process that just ended is left out.
      replay, replay_limit: bytes that the learner's replay holds, and may hold.
      env_steps: of the job.
    """

    time: float
    memory: Mapping[str, Memory]
    replay: float | None = None
    replay_limit: float | None = None
    env_steps: float | None = None


def read_memory(pid: int) -> Memory | None:
    """Of a process that runs; None: it has ended."""
    try:
        info = psutil.Process(pid).memory_full_info()
    except (psutil.NoSuchProcess, psutil.ZombieProcess, FileNotFoundError):
        return None
    return Memory(info.rss, info.pss, info.uss)


class MemoryWatch:
    """A session's companion that samples every `period` and ends the session after `duration`."""

    def __init__(
        self,
        duration: float,
        period: float,
        clock: Callable[[], float] = time.monotonic,
        read: Callable[[int], Memory | None] = read_memory,
    ) -> None:
        """Times in s."""
        self._duration = duration
        self._period = period
        self._clock = clock
        self._read = read
        self._began = clock()
        self._next = 0.0
        self.samples: list[Sample] = []
        self.deaths: list[str] = []

    def begin(self, domain: int) -> None:
        """Time counts from here."""
        self._began = self._clock()

    def end(self) -> None:
        """Nothing to put away."""

    def attend(self, supervisor: Supervisor, progress: Progress, deaths: Sequence[Death]) -> str:
        """A sample if one is due; says when the time is over."""
        self.deaths += [str(death) for death in deaths]
        now = self._clock() - self._began
        if now >= self._next:
            self._next = now + self._period
            pids = {SUPERVISOR: os.getpid(), **supervisor.pids()}
            found = {name: self._read(pid) for name, pid in pids.items()}
            memory = {name: value for name, value in found.items() if value is not None}
            values = [
                progress.value(name)
                for name in ("learner/replay_bytes", "learner/replay_limit", "actor/env_steps")
            ]
            self.samples.append(Sample(now, memory, *values))
        return "the time is over" if now >= self._duration else ""


def slope(times: Sequence[float], values: Sequence[float]) -> float | None:
    """Least-squares slope over the last two thirds of the time, per second; None: too few."""
    if len(times) < 3:
        return None
    begin = times[0] + (times[-1] - times[0]) / 3.0
    kept = [(t, v) for t, v in zip(times, values, strict=True) if t >= begin]
    t, v = np.array(kept, np.float64).T
    t = t - t.mean()
    spread = float(t @ t)
    return float(t @ (v - v.mean())) / spread if spread > 0.0 else None


def growth(samples: Sequence[Sample], name: str, field: str = "rss") -> float | None:
    """Slope of one process' memory [MiB/h]; None: too few samples."""
    known = [(s.time, getattr(s.memory[name], field)) for s in samples if name in s.memory]
    per_second = slope([t for t, _ in known], [v / MEBIBYTE for _, v in known])
    return None if per_second is None else 3600.0 * per_second


def names_of(samples: Sequence[Sample]) -> list[str]:
    """Every process that was seen, in the order of appearance."""
    return list(dict.fromkeys(name for sample in samples for name in sample.memory))
