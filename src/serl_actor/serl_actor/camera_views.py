"""What the policy sees of each camera: a part of its picture, made small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from serl_actor.frames import Frame, FrameLimits, UnusableImage
from serl_learner.vision.cameras import IMAGE

Crop = tuple[int, int, int, int]
"""Rows from, to; columns from, to [pixels]; the second of each is outside."""


@dataclass(frozen=True)
class CamerasConfig:
    """Which cameras the policy looks through.

    Attributes:
      names: of the cameras; none: the policy sees the arm's state only.
      image_size: height and width of what the policy sees [pixels].
      crops: four numbers for every camera in the order of `names`, see Crop; empty: all of every
        picture.
      limits: when a picture counts as one of now.
    """

    names: tuple[str, ...] = ()
    image_size: int = 128
    crops: tuple[int, ...] = ()
    limits: FrameLimits = field(default_factory=FrameLimits)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names) or not all(self.names):
            raise ValueError(f"cameras are {self.names}, expected different names")
        if not 32 <= self.image_size <= 1024:
            raise ValueError(f"image_size is {self.image_size}, expected 32 .. 1024 pixels")
        if self.crops and len(self.crops) != 4 * len(self.names):
            raise ValueError(
                f"crops are {len(self.crops)} numbers, expected four for each of {self.names}"
            )
        for name, (top, bottom, left, right) in self.crop_by_name.items():
            if not (0 <= top < bottom and 0 <= left < right):
                raise ValueError(
                    f"crop of camera {name} is rows {top} to {bottom}, columns {left} to {right}: "
                    "nothing is left of the picture"
                )

    @property
    def crop_by_name(self) -> dict[str, Crop]:
        """Crop of each camera; empty: there are none."""
        fours = zip(*(iter(self.crops),) * 4)
        return dict(zip(self.names, fours))  # type: ignore[arg-type]

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the pictures in the observation, in the order of `names`."""
        return tuple(f"{IMAGE}{name}" for name in self.names)


def prepare() -> None:
    """Loads what `view` makes pictures small with, before time counts."""
    import cv2  # noqa: F401


def look(frames: Mapping[str, Frame], config: CamerasConfig) -> dict[str, np.ndarray]:
    """The pictures in the observation, uint8 [S, S, 3] per key.

    Raises:
      UnusableImage: a crop reaches out of a picture.
    """
    crops = config.crop_by_name
    return {
        f"{IMAGE}{name}": view(name, frames[name].pixels, crops.get(name), config.image_size)
        for name in config.names
    }


def view(name: str, pixels: np.ndarray, crop: Crop | None, size: int) -> np.ndarray:
    """`crop` of a picture [H, W, 3] as [size, size, 3]; each new pixel is the mean of its area.

    Raises:
      UnusableImage: the crop reaches out of the picture.
    """
    if crop is not None:
        top, bottom, left, right = crop
        height, width = pixels.shape[:2]
        if bottom > height or right > width:
            raise UnusableImage(
                name,
                f"its pictures are {width} x {height} pixels, the crop is of rows {top} to "
                f"{bottom} and columns {left} to {right}",
            )
        pixels = pixels[top:bottom, left:right]
    if pixels.shape[:2] == (size, size):
        return np.ascontiguousarray(pixels)
    import cv2  # a fifth of a second: only where pictures are made small

    return cv2.resize(np.ascontiguousarray(pixels), (size, size), interpolation=cv2.INTER_AREA)
