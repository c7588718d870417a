"""How far and how fast each joint may go, and whether a configuration is allowed."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

Floats = tuple[float, ...]


class JointLimitError(ValueError):
    """A configuration or velocity that the arm must not be sent to; names joint and limit."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints of an arm, base to tool.

    Attributes:
      names: of the joints, [N].
      lower: least position, [N] [rad].
      upper: largest position, [N] [rad].
      velocity: largest velocity, [N] [rad/s].
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    velocity: Floats

    @classmethod
    def from_urdf(cls, description: str, names: Sequence[str]) -> JointLimits:
        """The limits that a robot description (URDF) gives the named joints.

        Raises:
          JointLimitError: it is no URDF, or lacks a joint or its limits; names it.
        """
        try:
            root = ElementTree.fromstring(description)
        except ElementTree.ParseError as error:
            raise JointLimitError(f"robot_description is not XML: {error}") from error
        found = {joint.get("name"): joint.find("limit") for joint in root.findall("joint")}
        limits = []
        for name in names:
            limit = found.get(name)
            if limit is None:
                raise JointLimitError(f"robot_description has no limits of joint {name!r}")
            try:
                limits.append(tuple(float(limit.attrib[k]) for k in ("lower", "upper", "velocity")))
            except (KeyError, ValueError) as error:
                raise JointLimitError(
                    f"robot_description: limit of joint {name!r} is {limit.attrib}, expected "
                    "lower, upper and velocity"
                ) from error
        lower, upper, velocity = zip(*limits)
        return cls(tuple(names), lower, upper, velocity)

    def check(self, q: Sequence[float], max_velocity: float) -> None:
        """Refuses what the arm must not be sent to.

        Args:
          q: target [N] [rad].
          max_velocity: of the fastest joint [rad/s].

        Raises:
          JointLimitError: the first joint that is outside, its value and limits.
        """
        if len(q) != len(self.names):
            raise JointLimitError(f"q has {len(q)} values, the arm {len(self.names)} joints")
        for name, value, low, high in zip(self.names, q, self.lower, self.upper, strict=True):
            if not (math.isfinite(value) and low <= value <= high):
                raise JointLimitError(f"{name} is {value:g} rad, allowed are {low:g} .. {high:g}")
        slowest = min(range(len(self.names)), key=lambda i: self.velocity[i])
        limit = self.velocity[slowest]
        if not (math.isfinite(max_velocity) and 0.0 < max_velocity <= limit):
            raise JointLimitError(
                f"max_velocity is {max_velocity:g} rad/s, expected more than 0 and at most "
                f"{limit:g} ({self.names[slowest]})"
            )
