"""The newest policy parameters, swapped in between two control steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from serl_learner.params_codec import EncodedParams, ParamsError, decode
from serl_learner.policy import Policy


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Parameters of one published version."""

    version: int
    learner_step: int
    params: Any
    received_at: float  # on the clock of the source [s]
    encoded: EncodedParams


class PolicySource:
    """Two buffers: `offer` fills one at any time, `swap` takes it between steps.

    Versions only grow; an older or equal one is ignored. Parameters that are corrupt or of
    another layout are refused and counted.

    Attributes:
      arriving: parameters are here that are not decoded yet.
      refused: parameters that could not be used.
      refusal: why the last ones could not; empty once there are good ones.
    """

    def __init__(self, policy: Policy, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: Snapshot | None = None
        self._current: Snapshot | None = None
        self.arriving = False
        self.refused = 0
        self.refusal = ""

    @property
    def current(self) -> Snapshot | None:
        """What the actor acts with; None before any arrived."""
        return self._current

    @property
    def newest_version(self) -> int:
        """Of the newest good parameters that arrived; 0 before any."""
        newest = self._pending or self._current
        return 0 if newest is None else newest.version

    def offer(self, encoded: EncodedParams) -> bool:
        """Takes in published parameters; from any thread. False: nothing newer.

        Raises:
          ParamsError: corrupt or of another layout; counted in `refused`.
        """
        if encoded.version <= self.newest_version:
            return False
        try:
            snapshot = self.decode(encoded)
        except ParamsError as error:
            self.refused += 1
            self.refusal = str(error)
            raise
        self.refusal = ""
        with self._lock:
            self._pending = snapshot
        return True

    def decode(self, encoded: EncodedParams) -> Snapshot:
        """The parameters, without making them current.

        Raises:
          ParamsError: corrupt or of another layout.
        """
        params = decode(encoded, self._policy.template, self._policy.layout_hash)
        params = jax.device_put(params)  # once, instead of at every action
        return Snapshot(encoded.version, encoded.learner_step, params, self._clock(), encoded)

    def swap(self) -> Snapshot | None:
        """Makes the newest parameters current; call between two steps."""
        with self._lock:
            if self._pending is not None:
                self._current, self._pending = self._pending, None
        return self._current

    def age(self) -> float | None:
        """Seconds since the current parameters arrived; None before any."""
        return None if self._current is None else self._clock() - self._current.received_at
