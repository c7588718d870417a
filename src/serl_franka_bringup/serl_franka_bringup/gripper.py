"""When a gripper is told something, and what: openings in, at most one order at a time. No ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass

KINDS = ("none", "franka", "robotiq")
WAYS = ("binary", "continuous")


@dataclass(frozen=True)
class GripperConfig:
    """How commanded openings, 0 closed .. 1 open, become orders.

    Attributes:
      kind: which gripper there is.
      way: binary opens or closes all the way; continuous goes to the opening.
      threshold: binary: commands above it open, others close.
      hysteresis: binary: a command this close to the threshold changes nothing.
      deadband: continuous: an opening that differs less from the last one changes nothing.
      width: opening between the fingers at 1 [m].
      speed: [m/s].
      force: of a grasp [N].
      closed_position: Robotiq: position of its driving joint when closed [rad]; open is 0.
    """

    kind: str = "none"
    way: str = "binary"
    threshold: float = 0.5
    hysteresis: float = 0.05
    deadband: float = 0.02
    width: float = 0.08
    speed: float = 0.1
    force: float = 60.0
    closed_position: float = 0.7929

    def __post_init__(self) -> None:
        for name, allowed in (("kind", KINDS), ("way", WAYS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} '{getattr(self, name)}' is not {' or '.join(allowed)}")
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold is {self.threshold}, expected between 0 and 1")
        for name in ("width", "speed", "force", "closed_position"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0")


@dataclass(frozen=True)
class GripperOrder:
    """What the gripper is told.

    Attributes:
      opening: 0 closed .. 1 open.
      grasp: close on something and keep pressing, wherever that is.
    """

    opening: float
    grasp: bool = False


class GripperOrders:
    """Tells the gripper only what is new, and only when it has done the order before."""

    def __init__(self, config: GripperConfig) -> None:
        self._config = config
        self._wanted: GripperOrder | None = None
        self._given: GripperOrder | None = None
        self._busy = False
        self.refused = 0  # commands that were not finite

    def want(self, opening: float) -> None:
        """A commanded opening; outside of 0 .. 1 it is clipped."""
        if not math.isfinite(opening):
            self.refused += 1
            return
        order = self._order(min(max(opening, 0.0), 1.0))
        if order is not None:
            self._wanted = order

    def next_order(self) -> GripperOrder | None:
        """What to tell the gripper now, if anything; then it is busy until `finish`."""
        if self._busy or self._wanted is None or self._wanted == self._given:
            return None
        self._busy = True
        self._given = self._wanted
        return self._given

    def finish(self) -> None:
        """The order is done, or failed: it is not given again before something else was."""
        self._busy = False

    def _order(self, opening: float) -> GripperOrder | None:
        config, last = self._config, self._wanted
        if config.way == "binary":
            if abs(opening - config.threshold) <= config.hysteresis:
                return None
            opens = opening > config.threshold
            return GripperOrder(1.0) if opens else GripperOrder(0.0, grasp=True)
        if last is not None and abs(opening - last.opening) < config.deadband:
            return None
        closes = last is not None and opening < last.opening
        return GripperOrder(opening, grasp=closes)
