"""Of several operators' devices the one that is heeded. No ROS."""

from __future__ import annotations

from collections.abc import Iterator

from serl_actor.devices.device import PERSONS
from serl_actor.intervention import Intervention


class Speakers:
    """What each device said last, and when."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[Intervention, float]] = {}

    def hear(self, said: Intervention, now: float) -> None:
        """A message came at `now` [s]."""
        self._said[said.device] = said, now

    def driving_person(self, max_age: float, now: float) -> Intervention | None:
        """Of persons whose device drives the one that was heard first of all.

        `max_age`: what was said longer ago counts for nothing (D25) [s].
        """
        return next((s for s in self._fresh(max_age, now) if s.active and _is_person(s)), None)

    def heeded(self, max_age: float, now: float) -> Intervention | None:
        """A person who drives, else another who drives, else what was said last; None: nothing."""
        person = self.driving_person(max_age, now)
        if person is not None:
            return person
        fresh = list(self._fresh(max_age, now))
        loudest = [said for said in fresh if said.active] or fresh
        return loudest[-1] if loudest else None

    def answer(self, stamp_ns: int) -> Intervention | None:
        """What was said to the state of that stamp by one that is waited for; None: not yet."""
        answers = (said for said, _ in self._said.values() if said.state_stamp_ns == stamp_ns)
        return next((said for said in answers if not _is_person(said)), None)

    def _fresh(self, max_age: float, now: float) -> Iterator[Intervention]:
        return (said for said, at in list(self._said.values()) if now - at <= max_age)


def _is_person(said: Intervention) -> bool:
    return said.device in PERSONS
