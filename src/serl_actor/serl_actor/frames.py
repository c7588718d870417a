"""Pictures of cameras, and when they are too old or too far from the arm's state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from serl_actor.robot_client import RobotError
from serl_learner.vision.cameras import IMAGE, TAKEN


class StaleImage(RobotError):
    """No picture of a camera within a limit; the message names the camera, both and the limit."""

    def __init__(self, camera: str, message: str) -> None:
        super().__init__(f"camera {camera}: {message}", f"camera {camera}")
        self.camera = camera


class UnusableImage(RobotError):
    """A picture that the task's crop does not fit; the message names the camera and both."""

    def __init__(self, camera: str, message: str) -> None:
        super().__init__(f"camera {camera}: {message}", f"camera {camera} to be set right")
        self.camera = camera


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a camera.

    Attributes:
      stamp_ns: when it was taken, on the clock of the arm's states.
      pixels: RGB, uint8 [H, W, 3].
    """

    stamp_ns: int
    pixels: np.ndarray


@dataclass(frozen=True)
class FrameLimits:
    """What counts as a picture of now.

    Attributes:
      max_age: since a picture arrived, on the steady clock [s].
      max_skew: between the stamps of a picture and of the arm's state [s].
      patience: how long the arm holds and waits for a camera that pauses; then the episode ends
        as aborted [s].
    """

    max_age: float = 0.2
    max_skew: float = 0.15
    patience: float = 2.0

    def __post_init__(self) -> None:
        for name in ("max_age", "max_skew", "patience"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} is {value} s, expected more than 0")


def taken_at(frames: Mapping[str, Frame], stamp_ns: int) -> dict[str, np.ndarray]:
    """When each picture was taken, for the log: int64 [] [ns]; not those of the state's stamp."""
    return {
        f"{TAKEN}{IMAGE}{name}": np.asarray(frame.stamp_ns, np.int64)
        for name, frame in frames.items()
        if frame.stamp_ns != stamp_ns
    }


def check_frames(
    frames: Mapping[str, Frame], names: Iterable[str], stamp_ns: int, max_skew: float
) -> None:
    """Passes if every camera has a picture taken within `max_skew` [s] of the state at `stamp_ns`.

    Raises:
      StaleImage: the first camera that has none (D29).
    """
    for name in names:
        if name not in frames:
            raise StaleImage(name, f"no picture; there are some of {sorted(frames) or 'no camera'}")
        skew_ns = frames[name].stamp_ns - stamp_ns
        if abs(skew_ns) > round(1e9 * max_skew):
            when = "before" if skew_ns < 0 else "after"
            raise StaleImage(
                name,
                f"the picture was taken {1e-9 * abs(skew_ns):.3f} s {when} the arm's state, "
                f"limit {max_skew} s",
            )
