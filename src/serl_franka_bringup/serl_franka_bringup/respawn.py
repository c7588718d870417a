"""Whether a process that died is started again, and when. No ROS, and no processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Respawn:
    """How often and how soon a process that died is started again.

    The limit is of deaths without recovery. A process has recovered when it came up and the
    work went on while it lived, or when it lived for `forget_after`: what is killed again and
    again, but takes up its work each time, is always restarted; what only dies is not.
    """

    limit: int = 0  # restarts in a row without recovery; 0: never
    first_delay: float = 1.0  # [s], doubled with each restart in quick succession
    longest_delay: float = 15.0  # [s]; who lived for longer is restarted after `first_delay`
    forget_after: float = 60.0  # [s] alive, which is recovery in any case

    def delay(self, restarts: int) -> float:
        """Wait before the restart after `restarts` earlier ones [s]."""
        return min(self.first_delay * 2.0**restarts, self.longest_delay)


class Lives:
    """The processes of one program, one after the other."""

    def __init__(self, respawn: Respawn) -> None:
        self._respawn = respawn
        self.started_at = 0.0
        self._failures = 0  # restarts in a row without recovery
        self._restarts = 0  # in quick succession
        self._is_up = False  # the current process
        self._was_ever_up = False
        self._work_before = 0  # when the current process was started

    def begin(self, now: float, work: int) -> None:
        """A process was started at `now` [s], when `work` had been done."""
        self.started_at, self._is_up, self._work_before = now, False, work

    def notice(self, is_up: bool) -> None:
        """Whether the current process has come up."""
        self._is_up |= is_up
        self._was_ever_up |= is_up

    def end(self, now: float, code: int, work: int) -> float | None:
        """Time from the process' end to the start of the next one [s]; None: there is none.

        Args:
          now: of the end [s].
          code: exit code; negative: the signal that killed it.
          work: that had been done by then.
        """
        lived = now - self.started_at
        if (self._is_up and work > self._work_before) or lived >= self._respawn.forget_after:
            self._failures = 0
        if lived >= self._respawn.longest_delay:
            self._restarts = 0
        hopeless = code > 0 and not self._was_ever_up  # it would only fail again
        if code == 0 or hopeless or self._failures >= self._respawn.limit:
            return None
        delay = self._respawn.delay(self._restarts)
        self._failures += 1
        self._restarts += 1
        return delay
