"""Which process of a training run is killed, and when: the seeded plan of a kill matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

STARTING = "starting"
DEMONSTRATIONS = "demonstrations"
STEPS = "steps"
CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class Span:
    """What a run is long: the kills are spread over it.

    Attributes:
      demonstrations: recorded before training.
      training_starts: environment steps before the first update.
      max_steps: environment steps of the whole training.
    """

    demonstrations: int
    training_starts: int
    max_steps: int

    def __post_init__(self) -> None:
        if self.demonstrations < 1:
            raise ValueError(f"demonstrations {self.demonstrations} is below 1")
        if not 0 <= self.training_starts < self.max_steps:
            raise ValueError(
                f"training_starts {self.training_starts} is not in 0..max_steps ({self.max_steps})"
            )


@dataclass(frozen=True)
class Kill:
    """One kill: not before the run has resumed after the one before, and has come to `at`.

    Attributes:
      kind: node to kill.
      trigger: what `at` counts: DEMONSTRATIONS held, or environment STEPS; CHECKPOINT is STEPS
        and then waits for the learner to be writing a checkpoint. STARTING counts nothing: the
        node is killed while it starts, before it has said anything.
      at: value of the count.
      delay: from there (or from the begin of the write) to the kill [s].
    """

    kind: str
    trigger: str
    at: int
    delay: float


IN_DEMONSTRATIONS = 0.2
"""Share of the kills before training."""
IN_WARM_UP = 0.1
"""Share of the kills between demonstrations and the first update."""
LAST_AT = 0.85
"""Share of the environment steps after which none is begun: training goes on after the last."""
LONGEST_DELAY = 3.0
"""Of a kill after its count was reached [s]."""
LONGEST_WRITE = 0.1
"""Of a kill after a checkpoint's write began [s]."""
LONGEST_START = 0.5
"""Of a kill after its node was started, well before it can be up [s]."""


def make_plan(kinds: Sequence[str], kills: int, span: Span, seed: int) -> tuple[Kill, ...]:
    """`kills` of each kind, spread over the run, in the order of their moments.

    No kind is killed twice in a row, if there is more than one. If there are several kills before
    training, the first is while its node starts. Every other kill of the learner in training is
    during a checkpoint's write. Raises ValueError: a kind is named twice or none is.
    """
    if not kinds or len(set(kinds)) != len(kinds) or kills < 1:
        raise ValueError(f"{kills} kills of {', '.join(kinds) or 'no kind'} make no plan")
    rng = np.random.default_rng(seed)
    order = _shuffle(kinds, kills, rng)
    early = max(1, round(IN_DEMONSTRATIONS * len(order)))
    warm = max(1, round(IN_WARM_UP * len(order)))
    late = max(0, len(order) - early - warm)
    moments = [(DEMONSTRATIONS, at) for at in np.sort(rng.integers(0, span.demonstrations, early))]
    if early > 1:
        moments[0] = (STARTING, 0)
    moments += [(STEPS, at) for at in np.sort(rng.integers(0, span.training_starts + 1, warm))]
    last = max(span.training_starts + 1, int(LAST_AT * span.max_steps))
    moments += [
        (STEPS, at) for at in np.sort(rng.integers(span.training_starts, last, late, endpoint=True))
    ]
    plan = []
    trained = 0
    for kind, (trigger, at) in zip(order, moments, strict=False):
        longest = LONGEST_START if trigger == STARTING else LONGEST_DELAY
        if kind == "learner" and trigger == STEPS and at >= span.training_starts:
            trained += 1
            if trained % 2:
                trigger, longest = CHECKPOINT, LONGEST_WRITE
        plan.append(Kill(kind, trigger, int(at), float(rng.uniform(0.0, longest))))
    return tuple(plan)


def _shuffle(kinds: Sequence[str], kills: int, rng: np.random.Generator) -> list[str]:
    """Every kind `kills` times at random, neighbours differing.

    Of those that differ from the one before, one is drawn by how many are left of each; a kind
    of which half or more of the rest is left must come now, or it would meet itself at the end.
    """
    left = dict.fromkeys(kinds, kills)
    order: list[str] = []
    while rest := sum(left.values()):
        allowed = [k for k in kinds if left[k] and (not order or k != order[-1])]
        allowed = allowed or [k for k in kinds if left[k]]
        urgent = [k for k in allowed if 2 * left[k] > rest]
        weights = np.array([left[k] for k in allowed], float)
        choice = urgent[0] if urgent else str(rng.choice(allowed, p=weights / weights.sum()))
        order.append(choice)
        left[choice] -= 1
    return order
