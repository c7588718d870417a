"""The last pictures of each camera, for a policy that looks at several at once."""

from __future__ import annotations

from collections import deque

import numpy as np

from serl_learner.types import Observation
from serl_learner.vision.cameras import IMAGE


class FrameHistory:
    """Joins the pictures of the last steps; the first of an episode stands for those before it."""

    def __init__(self, stack: int) -> None:
        """`stack`: so many pictures of each camera; 1 leaves observations as they are."""
        self._stack = stack
        self._seen: dict[str, deque[np.ndarray]] = {}

    def begin(self) -> None:
        """Forgets what was seen."""
        self._seen.clear()

    def extend(self, observation: Observation) -> Observation:
        """The observation with pictures [stack, H, W, 3], the newest last, for [H, W, 3]."""
        if self._stack == 1:
            return observation
        return {k: self._join(k, v) if k.startswith(IMAGE) else v for k, v in observation.items()}

    def _join(self, key: str, picture: np.ndarray) -> np.ndarray:
        if key not in self._seen:
            self._seen[key] = deque([picture] * self._stack, maxlen=self._stack)
        else:
            self._seen[key].append(picture)
        return np.stack(self._seen[key])
