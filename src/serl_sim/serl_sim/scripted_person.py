"""A scripted stand-in for a person who watches a policy and takes over when it drifts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array, Pose
from serl_sim.experts import Expert

LEVER = 0.1
"""What a turn counts for beside a distance [m/rad]."""

DEMONSTRATIONS, WHEN_DRIFTING = "demonstrations", "when_drifting"
"""When the person drives: whenever they may, or in training only when the policy drifts."""

_STREAM = 3
"""Keeps the person's draws apart from what others draw with the same seed."""


@dataclass(frozen=True)
class PersonConfig:
    """When the person takes over, and for how long.

    Attributes:
      patience: steps without progress that they bear: of a policy that they do not trust at all,
        and of one that they trust.
      progress: what counts as progress: closer to the seat than ever since they let go [m].
      away: so much farther from it than the closest since then, and they take over at once [m].
      force: so much on the tool, and they take over at once [N].
      hold: steps that they drive before they let go, drawn uniformly, both included.
      finish: nobody lets go of a plug that is halfway in: so close to the seat they drive on [m].
      memory: episodes that trust looks back on: it is the share of those that the policy solved
        alone. Episodes that have not been yet count as not solved.
      solved: how far from the seat an episode may end to be called solved [m].
    """

    patience: tuple[int, int] = (8, 30)
    progress: float = 0.001
    away: float = 0.02
    force: float = 12.0
    hold: tuple[int, int] = (10, 30)
    finish: float = 0.015
    memory: int = 10
    solved: float = 0.004

    def __post_init__(self) -> None:
        for name in ("patience", "hold"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise ValueError(f"person.{name} is {low, high}, expected 1 <= low <= high")
        for name in ("progress", "away", "force", "finish", "solved"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"person.{name} is {getattr(self, name)}, expected more than 0")
        if self.memory < 1:
            raise ValueError(f"person.memory is {self.memory}, expected at least 1")


class Answer(NamedTuple):
    """What the person does: whether they drive, and if they do the action [6], and what they ask
    of the gripper: -1 close, +1 open, 0 as it is."""

    drives: bool
    action: Array
    gripper: float = 0.0


class ScriptedPerson:
    """Sees the arm and what it is about, not the policy; drives as the scripted expert does.

    Where there is an object, `see_object` comes before `see` or `answer`. The same seeds and states
    give the same answers.
    """

    def __init__(self, expert: Expert, config: PersonConfig) -> None:
        self._expert, self._config = expert, config
        self._alone: deque[bool] = deque(maxlen=config.memory)
        self._watched = self._took_over = False
        self.reset(0)

    def reset(self, seed: int, fixture: Pose | None = None) -> None:
        """A new episode, as for Expert.reset; the one before, if watched, is judged."""
        if self._watched:
            solved = self._distance <= self._config.solved
            self._alone.append(solved and not self._took_over)
        self._watched = self._took_over = False
        self._expert.reset(seed, fixture)
        self._rng = np.random.default_rng((seed, _STREAM))
        self._driving = 0
        self._closest = np.inf
        self._stuck = 0

    @property
    def trust(self) -> float:
        """In the policy, 0 .. 1."""
        return sum(self._alone) / self._config.memory

    @property
    def patience(self) -> int:
        """Steps without progress that they bear now."""
        first, last = self._config.patience
        return round(first + self.trust * (last - first))

    def see_object(self, pose: Pose | None) -> None:
        """Where the object is in the state that comes next, T_base_object; None: there is none."""
        self._expert.see_object(pose)

    def see(self, state: ArmState) -> None:
        """How the arm stands now."""
        self._distance = self._expert.distance(state, LEVER)

    def answer(self, state: ArmState, policy_drives: bool) -> Answer:
        """What they do about `state`: where the policy drives they may let it go on."""
        self.see(state)
        if not policy_drives:
            return self._drive(state)
        self._watched = True
        if not self._driving and self._drifts(state):
            low, high = self._config.hold
            self._driving = int(self._rng.integers(low, high + 1))
            self._took_over = True
            self._expert.begin_again()
        if not self._driving:
            return Answer(False, np.zeros(6))
        if self._distance > self._config.finish:
            self._driving -= 1
        self._closest, self._stuck = self._distance, 0
        return self._drive(state)

    def _drive(self, state: ArmState) -> Answer:
        action = self._expert.act(state)
        return Answer(True, action, self._expert.gripper)

    def _drifts(self, state: ArmState) -> bool:
        config = self._config
        if self._distance < self._closest - config.progress:
            self._closest, self._stuck = self._distance, 0
        else:
            self._stuck += 1
        away = self._distance > self._closest + config.away
        pressed = float(np.linalg.norm(state.wrench[:3])) > config.force
        return away or pressed or self._stuck > self.patience
