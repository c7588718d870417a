"""How a scripted person picks and places: figures beside those of every scripted person."""

from __future__ import annotations

from dataclasses import dataclass, fields

Range = tuple[float, float]


@dataclass(frozen=True)
class PickConfig:
    """Ranges are drawn uniformly; a new try, a new draw.

    Attributes:
      speed: largest translation action.
      travel: height over the place at which they approach and carry [m].
      clear: height over the place from which they carry the block across [m].
      look_error: standard deviation per axis of where they see block and place [m].
      reach_error: standard deviation of the height at which they close the hand [m].
      hasty: chance that they close it before it is down, and grasp nothing.
      hasty_height: so much too high then [m].
      close_steps: steps that they give the hand to close.
      drop: height over the place from which they let the block go [m].
      open_steps: steps that they give the hand to open.
      patience: steps of going down before they take it that they are down.
      near: across, within this of where they want to be they go down [m].
      released: opening of the hand above which it holds nothing.
      held: distance of the block from the tcp above which it is not held [m].
      in_place, level: across and in height, within this of the place they leave the block [m].
      not_grasped, not_released: what the distance to the goal counts beside the block's to its
        place, before the block is grasped, and until it is let go [m].
    """

    speed: Range = (0.7, 1.0)
    travel: Range = (0.03, 0.045)
    clear: float = 0.01
    look_error: float = 0.003
    reach_error: float = 0.002
    hasty: float = 0.12
    hasty_height: float = 0.03
    close_steps: tuple[int, int] = (4, 5)
    drop: Range = (0.001, 0.004)
    open_steps: tuple[int, int] = (3, 4)
    patience: tuple[int, int] = (12, 18)
    near: float = 0.008
    released: float = 0.6
    held: float = 0.025
    in_place: float = 0.02
    level: float = 0.008
    not_grasped: float = 0.05
    not_released: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low, high = value if isinstance(value, tuple) else (value, value)
            least = 1 if isinstance(low, int) else 0.0
            if not least <= low <= high:
                raise ValueError(f"pick.{field.name} is {value}, expected {least} <= low <= high")
        for name in ("hasty", "released"):
            if getattr(self, name) > 1.0:
                raise ValueError(f"pick.{name} is {getattr(self, name)}, expected 0 .. 1")
