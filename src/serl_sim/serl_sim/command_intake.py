"""Which commands a simulated arm carries out: numbers, values, and what happens to the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum

from serl_controllers.arm import ArmTarget
from serl_sim.simulation import Simulation

UNKNOWN_NODE = "_NODE_NAME_UNKNOWN_"
"""What the middleware says before it has heard an endpoint's node by name."""


def rivals(publishers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Names of the nodes that publish commands, if they are more than one; else none.

    A killed node stays in the graph for some seconds: its successor, of the same name, is no
    rival. Two living nodes of one name do not get far: their command numbers collide. A node not
    yet known by name is no rival either; soon it is.

    Args:
      publishers: namespace and name of the node of every publisher.
    """
    known = ((namespace, name) for namespace, name in publishers if name != UNKNOWN_NODE)
    names = {f"{namespace.rstrip('/')}/{name}" for namespace, name in known}
    return tuple(sorted(names)) if len(names) > 1 else ()


class Verdict(Enum):
    """What becomes of a command."""

    CARRY_OUT = "carry out"
    REPEAT = "repeat"  # carried out before: only the state is asked for
    REFUSE = "refuse"


class CommandIntake:
    """Judges commands for one simulation and hands over the good ones.

    In lockstep a command's number is one more than the last: then it is carried out. The last
    number again asks for the state again, so a lost message is asked for anew. Any other number
    is refused: it comes from a publisher that does not know this episode. A reset restarts the
    count, the first command is 1; a restarted actor therefore resets the scene before it moves.

    In real time every number but the last is new, as on a real arm: commands may get lost, and a
    restarted publisher counts from the beginning.
    """

    def __init__(self, simulation: Simulation, lockstep: bool) -> None:
        self._simulation = simulation
        self._lockstep = lockstep
        self._refused = 0
        self._reason = ""

    @property
    def refused(self) -> int:
        """Commands refused so far."""
        return self._refused

    @property
    def reason(self) -> str:
        """Why the last one was refused; empty before the first."""
        return self._reason

    def accept(self, target: ArmTarget, command_seq: int) -> Verdict:
        """Hands a command to the law if it is new and sound; does not advance the physics."""
        last = self._simulation.command_seq
        if command_seq == last:
            return Verdict.REPEAT
        if self._lockstep and command_seq != last + 1:
            return self.refuse(
                f"command {command_seq} in lockstep, expected {last + 1} (new) or {last} (again); "
                "reset_scene restarts the count"
            )
        if target.gripper is not None and not math.isfinite(target.gripper):
            return self.refuse(f"command {command_seq}: gripper is {target.gripper}")
        if not target.pose.is_valid:
            # The law sees it too: it counts the command and holds the pose.
            self._simulation.command(target, last)
            return self._note(
                f"command {command_seq}: target {target.pose.to_vector().tolist()} is not finite "
                "or its quaternion is not of unit norm"
            )
        if not self._simulation.command(target, command_seq):
            return self._note(
                f"command {command_seq}: the arm is in mode {self._simulation.state().mode.name}"
            )
        return Verdict.CARRY_OUT

    def refuse(self, reason: str) -> Verdict:
        """Refuses a command that does not reach the law."""
        self._simulation.refuse()
        return self._note(reason)

    def _note(self, reason: str) -> Verdict:
        self._refused += 1
        self._reason = reason
        return Verdict.REFUSE
