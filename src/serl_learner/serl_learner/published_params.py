"""Versions of the policy that were given out, the last of them kept to be saved or fetched."""

from __future__ import annotations

from collections import deque
from typing import Any

from serl_learner.params_codec import EncodedParams, encode

KEPT = 50
"""Versions kept in memory."""
NOT_KEPT = "not kept"
"""Says, and nothing else says, that a version is gone for good: who asked may choose another."""
STRIDE = 10_000
"""Versions left out after those of a learner before: it gave out more than its files tell."""


class PublishedParams:
    """Counts versions; they only ever grow, also over a restart."""

    def __init__(self, layout_hash: str, version: int = 0) -> None:
        """`version` is the newest that was given out by this process."""
        self.layout_hash = layout_hash
        self.version = version
        self._kept: deque[EncodedParams] = deque(maxlen=KEPT)

    def notice(self, version: int) -> None:
        """`version` was given out, or an actor uses it.

        If this process did not give it out, one before did, and others after it that no file
        tells of: the next one is `STRIDE` above, so that no number names two policies.
        """
        if version > self.version:
            self.version = version + STRIDE

    def publish(self, params: Any, learner_step: int) -> EncodedParams:
        """The next version, encoded."""
        self.version += 1
        encoded = encode(params, self.version, learner_step, self.layout_hash)
        self._kept.append(encoded)
        return encoded

    @property
    def newest(self) -> EncodedParams | None:
        """The last one published by this process."""
        return self._kept[-1] if self._kept else None

    def find(self, version: int) -> EncodedParams:
        """A kept version, 0 for the newest; LookupError names the versions that are kept."""
        for encoded in reversed(self._kept):
            if version in (0, encoded.version):
                return encoded
        kept = f"{self._kept[0].version}..{self._kept[-1].version}" if self._kept else "none"
        raise LookupError(f"policy version {version} is {NOT_KEPT}; kept are {kept}")
