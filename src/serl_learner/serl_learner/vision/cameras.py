"""Which observation keys are camera images, and where their feature maps go."""

from __future__ import annotations

from collections.abc import Iterable

IMAGE = "image/"
"""`image/<camera>`: uint8 [H, W, 3] RGB."""

FEATURES = "features/"
"""`features/<camera>`: what a frozen network makes of that camera's frames, [T, h, w, c]."""

TAKEN = "time/"
"""`time/image/<camera>` among a record's extras: when the picture was taken, int64 [] [ns]."""


def cameras(keys: Iterable[str], prefix: str = IMAGE) -> tuple[str, ...]:
    """Names of the cameras among observation keys, sorted."""
    return tuple(sorted(key.removeprefix(prefix) for key in keys if key.startswith(prefix)))
