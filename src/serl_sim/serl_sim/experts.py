"""Which scripted person does which task."""

from __future__ import annotations

from typing import Protocol

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array, Pose
from serl_sim.expert import ExpertConfig, ScriptedExpert
from serl_sim.pick_expert import PickExpert


class Expert(Protocol):
    """Does a task as a person would; the same seed and states give the same actions."""

    def reset(self, seed: int, fixture: Pose | None = None) -> None:
        """A new episode; `fixture` is T_base_fixture, None: as configured."""
        ...

    def see_object(self, pose: Pose | None) -> None:
        """Where the object is in the state that is asked about next, T_base_object."""
        ...

    def act(self, state: ArmState) -> Array:
        """Action [6] in [-1, 1]: translation and rotation vector in the current tcp frame."""
        ...

    @property
    def gripper(self) -> float:
        """What the last action asks of the gripper: -1 close, +1 open, 0 as it is."""
        ...

    def begin_again(self) -> None:
        """Somebody else has moved the arm meanwhile."""
        ...

    def distance(self, state: ArmState, lever: float) -> float:
        """How far there is to go [m]; a turn, where it counts, as far as at a `lever`'s end [m]."""
        ...


def make_expert(config: ExpertConfig) -> Expert:
    """The person for this kind of scene."""
    return PickExpert(config) if config.kind == "pick" else ScriptedExpert(config)
