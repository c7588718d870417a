"""Whom the crew talks to: the learner, and people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from serl_actor.job import Phase, Training
from serl_actor.transition_sender import TransitionSender
from serl_learner.types import Record


class Link(Protocol):
    """The learner as the crew sees it."""

    sender: TransitionSender

    @property
    def demonstrations(self) -> int | None: ...
    @property
    def training(self) -> bool: ...
    def wait(self, predicate: Callable[[], bool], timeout: float) -> bool: ...
    def save_best(self, version: int) -> None: ...


class Board(Protocol):
    """Where the crew tells what goes on.

    `check`, `waiting` and `pause` raise Cancelled when the job must stop; `pause` waits a moment
    before something is tried again.
    """

    def status(self, phase: Phase, driver: str, detail: str) -> None: ...
    def waiting(self, what: str) -> None: ...
    def check(self) -> None: ...
    def pause(self, seconds: float = 0.5) -> None: ...
    def progress(self, training: Training) -> None: ...
    def step(self, record: Record) -> None: ...
