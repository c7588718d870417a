"""A task with a gripper that a small agent learns in seconds: close on a thing, carry it, let go.

A point moves on a line in [-1, 1]. The thing lies at -0.4; whoever closes the gripper within REACH
of it takes it along. Let go within REACH of +0.4, it solves the task; elsewhere it falls where it
is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from toy_loop import Choose, share_solved

from serl_learner.types import ObservationSpec, Record, Source

SPEC: ObservationSpec = {
    "state/gripper": ((2,), "float32"),
    "state/line": ((2,), "float32"),
}
ACTION_DIM = 2
THING, GOAL = -0.4, 0.4
STEP, REACH, LIMIT = 0.2, 0.15, 30


class Line:
    """The task; its observation is where the point is, and where the thing is from there."""

    def __init__(self, at: float) -> None:
        self.at, self.thing, self.opening, self.held = at, THING, 1.0, False

    def observe(self) -> dict[str, np.ndarray]:
        """Now."""
        return {
            "state/gripper": np.full(2, self.opening, np.float32),
            "state/line": np.float32([self.at, self.thing - self.at]),
        }

    def act(self, action: np.ndarray) -> tuple[np.ndarray, bool]:
        """What was executed, and whether that solves the task."""
        toggle = 0.0
        if self.opening > 0 and action[1] < -0.5:
            toggle, self.held = -1.0, abs(self.at - self.thing) < REACH
        elif self.opening < 0 and action[1] > 0.5:
            toggle = 1.0
        self.opening += 2.0 * toggle
        solved = self.held and self.opening > 0 and abs(self.at - GOAL) < REACH
        self.held = self.held and self.opening < 0
        moved = float(np.clip(action[0], -1, 1))
        self.at = float(np.clip(self.at + STEP * moved, -1, 1))
        if self.held:
            self.thing = self.at
        return np.float32([moved, toggle]), solved


def episode(
    rng: np.random.Generator,
    choose: Choose,
    number: int = 0,
    source: Source = Source.POLICY,
    sink: Callable[[Record], None] = lambda record: None,
) -> bool:
    """One episode from a random start; whether it was solved."""
    line = Line(rng.uniform(-1, 1))
    success, step = False, 0

    def put(**fields: object) -> None:
        place = {"session": b"g" * 16, "seq": 0, "episode": number, "step": step}
        sink(Record(**place, source=source, **fields))  # type: ignore[arg-type]

    while not success and step < LIMIT:
        observation = line.observe()
        executed, success = line.act(np.asarray(choose(observation)))
        truncated = not success and step == LIMIT - 1
        put(
            observation=observation,
            action=executed,
            reward=float(success),
            terminated=success,
            truncated=truncated,
        )
        step += 1
    put(observation=line.observe(), action=None, last=True, success=success)
    return success


def demonstrator(rng: np.random.Generator, noise: float = 0.2) -> Choose:
    """Goes there unsteadily, and moves the gripper as soon as it is worth it."""

    def choose(observation: dict[str, np.ndarray]) -> np.ndarray:
        at, to_thing = observation["state/line"]
        is_open = observation["state/gripper"][1] > 0
        way = to_thing if is_open else GOAL - at
        toggle = (-1.0 if is_open else 1.0) if abs(way) < 0.8 * REACH else 0.0
        return np.array([np.clip(way / STEP + noise * rng.normal(), -1, 1), toggle])

    return choose


def success_rate(choose: Choose) -> float:
    """Share of successes from fixed starts."""
    return share_solved(episode, choose)
