"""What rviz shows of a task beside the robot: target, workspace box, who drives, reward. No ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serl_controllers.geometry import Array, Pose

Rgba = tuple[float, float, float, float]

_COLOURS: dict[str, Rgba] = {  # who drives
    "policy": (0.2, 0.6, 1.0, 1.0),
    "random": (0.7, 0.7, 0.7, 1.0),
    "": (0.7, 0.7, 0.7, 1.0),
}
_OPERATOR: Rgba = (1.0, 0.55, 0.1, 1.0)
_BOX: Rgba = (0.2, 0.8, 0.3, 0.15)
_SUCCESS: Rgba = (0.2, 0.9, 0.3, 1.0)
_FAILURE: Rgba = (0.9, 0.3, 0.3, 1.0)
_BROKEN: Rgba = (0.9, 0.1, 0.1, 1.0)

_TEXT_ABOVE = 0.12  # of the box's upper side [m]
_LINE = 0.04  # between two lines of text [m]


@dataclass(frozen=True)
class MarkersConfig:
    """Figures of the task; poses in the arm's base frame.

    Attributes:
      target_position: tcp of the solved task [m].
      target_rpy: its roll, pitch, yaw about the fixed axes [rad].
      box_lower: least offset of a target pose along the base's axes [m], and rotation [rad].
      box_upper: largest offset.
    """

    target_position: tuple[float, float, float]
    target_rpy: tuple[float, float, float]
    box_lower: tuple[float, ...]
    box_upper: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("box_lower", "box_upper"):
            if len(getattr(self, name)) != 6:
                raise ValueError(f"{name} has {len(getattr(self, name))} values, expected 6")

    @property
    def target(self) -> Pose:
        """T_base_tcp of the solved task."""
        return Pose.from_rpy(self.target_position, self.target_rpy)


@dataclass(frozen=True)
class Box:
    """A box along the axes of the base: middle [3] and size [3] [m]."""

    middle: Array
    size: Array
    colour: Rgba


@dataclass(frozen=True)
class Text:
    """A line of text that faces the viewer, at a point [3] [m]."""

    text: str
    at: Array
    colour: Rgba


def workspace(config: MarkersConfig) -> Box:
    """The box that targets are kept in; its rotational part has no picture."""
    lower, upper = np.array(config.box_lower[:3]), np.array(config.box_upper[:3])
    middle = np.array(config.target_position) + 0.5 * (lower + upper)
    return Box(middle, upper - lower, _BOX)


def driver_text(config: MarkersConfig, driver: str, intervened: bool, mode: str) -> Text:
    """Who drives, and the arm's mode where that is not following."""
    at = _above(config, 0)
    if mode in ("REFLEX", "FAULT", "IDLE"):
        return Text(mode, at, _BROKEN)
    who = f"{driver or 'nobody'} drives" if not intervened else "operator drives"
    colour = _OPERATOR if intervened else _COLOURS.get(driver, _OPERATOR)
    return Text(f"{who} ({mode.lower()})" if mode == "HOLD" else who, at, colour)


def reward_text(config: MarkersConfig, reward: float, probability: float | None) -> Text:
    """The last reward, and the reward model's estimate if there is one."""
    estimate = "" if probability is None else f"  p(success) {probability:.2f}"
    return Text(
        f"reward {reward:g}{estimate}", _above(config, 1), _SUCCESS if reward > 0 else _FAILURE
    )


def _above(config: MarkersConfig, line: int) -> Array:
    x, y, z = config.target_position
    return np.array((x, y, z + config.box_upper[2] + _TEXT_ABOVE + line * _LINE))
