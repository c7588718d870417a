"""Critic updates per second, against a plain loop and against SERL's configuration.

Batch 256, ten critics of 256 x 256 with LayerNorm, eight critic updates to one of the policy,
states [24], actions [6]. Every pair is measured in turns in one process, so that what else the
machine does touches both; the fastest of all turns counts. One process has one core, another all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from serl_learner import serl_reference
from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.plain_loop import update_in_loop
from serl_learner.replay import Ring, create_ring, insert, transition_bytes
from serl_learner.types import ObservationSpec
from serl_learner.updates import update_high_utd

BATCH_SIZE = 256
UTD_RATIO = 8
ACTION_DIM = 6
STORED = 1000
"""Transitions in either half of the data."""

TURNS = 6
CONFIG = SACConfig(hidden=(256, 256), layer_norm=True, critics=10, critic_subset=2)
SPEC: ObservationSpec = {
    f"state/{name}": ((6,), "float32")
    for name in ("tcp_pose", "tcp_twist", "wrench", "target_offset")
}
ONE_CORE_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

Transitions = dict[str, Any]
Turn = Callable[[], Any]
Clock = Callable[[], float]
"""Seconds."""


def run() -> list[dict[str, Any]]:
    """Every benchmark of this package, on one core, then with all of them."""
    return [row for cores in ("one_core", "all_cores") for row in in_process(__name__, cores)]


def in_process(module: str, cores: str) -> list[dict[str, Any]]:
    """Rows measured by a module in a fresh process: XLA reads its flags once."""
    environment = dict(os.environ)
    flags = environment.pop("XLA_FLAGS", "").replace(ONE_CORE_FLAGS.split()[0], "")
    environment["XLA_FLAGS"] = f"{flags} {ONE_CORE_FLAGS if cores == 'one_core' else ''}".strip()
    if cores == "one_core":
        environment["JAX_PLATFORMS"] = "cpu"
    done = subprocess.run(
        [sys.executable, "-m", module, cores],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout.splitlines()[-1]))


def measure(cores: str, turns: int = TURNS) -> list[dict[str, Any]]:
    """The rows of this process.

    Args:
      cores: "one_core" binds the process to one; anything else names the rows only.
    """
    if cores == "one_core":
        use_one_core()
    rates = _rates({"fused": _fused(), "plain_loop": _plain_loop(), "serl": _serl()}, turns)
    return [
        {
            "name": f"learner/critic_updates_over_{other}_{cores}",
            "value": rates["fused"],
            "unit": "1/s",
            "reference": rates[other],
            "ratio": rates["fused"] / rates[other],
        }
        for other in ("plain_loop", "serl")
    ]


def use_one_core() -> None:
    """Binds the process to one core, where that can be done."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def fastest(
    contenders: dict[str, Turn], turns: int, clock: Clock, least_s: float = 0.0
) -> dict[str, float]:
    """Seconds of the fastest of some turns of each, which take turns; what is quicker than
    `least_s` has several of them each time."""
    best = dict.fromkeys(contenders, np.inf)
    for turn in contenders.values():
        turn()  # compiles
    for _ in range(turns):
        for name, turn in contenders.items():
            taken = [seconds_of(turn, clock)]
            while sum(taken) < least_s:
                taken.append(seconds_of(turn, clock))
            best[name] = min(best[name], *taken)
    return best


def seconds_of(turn: Turn, clock: Clock) -> float:
    """What one turn takes."""
    began = clock()
    turn()
    return clock() - began


def _rates(contenders: dict[str, Turn], turns: int) -> dict[str, float]:
    """Critic updates/s of the fastest turn of each; a turn is UTD_RATIO of them."""
    best = fastest(contenders, turns, time.perf_counter)
    return {name: UTD_RATIO / seconds for name, seconds in best.items()}


def _fused() -> Turn:
    return _repeat(update_high_utd)


def _plain_loop() -> Turn:
    return _repeat(update_in_loop)


def _repeat(update: Callable[..., Any]) -> Turn:
    agent = SACAgent.create(jax.random.PRNGKey(0), SPEC, ACTION_DIM, CONFIG)
    prior, online = (_ring(_transitions(seed)) for seed in (0, 1))

    def turn() -> None:
        nonlocal agent
        agent, metrics = update(agent, prior, online, utd_ratio=UTD_RATIO, batch_size=BATCH_SIZE)
        jax.block_until_ready((agent, metrics))

    return turn


def _serl() -> Turn:
    agent = serl_reference.ReferenceAgent.create(jax.random.PRNGKey(0), 24, ACTION_DIM, CONFIG)
    prior, online, rng = _transitions(0), _transitions(1), np.random.default_rng(0)

    def turn() -> None:
        nonlocal agent
        size = UTD_RATIO * BATCH_SIZE
        batch = serl_reference.sample_on_host(prior, online, rng, size)
        agent, loss = serl_reference.update_high_utd(agent, batch, utd_ratio=UTD_RATIO)
        jax.block_until_ready((agent, loss))

    return turn


def _transitions(seed: int) -> Transitions:
    """STORED random transitions, [STORED, ...] each."""
    rng = np.random.default_rng(seed)

    def observation() -> dict[str, np.ndarray]:
        return {k: rng.normal(size=(STORED, *s)).astype(d) for k, (s, d) in sorted(SPEC.items())}

    return {
        "observation": observation(),
        "next_observation": observation(),
        "action": rng.uniform(-1, 1, (STORED, ACTION_DIM)).astype(np.float32),
        "reward": (rng.uniform(size=STORED) < 0.05).astype(np.float32),
        "terminated": rng.uniform(size=STORED) < 0.05,
    }


def _ring(transitions: Transitions) -> Ring:
    ring = create_ring(SPEC, ACTION_DIM, 2 * STORED * transition_bytes(SPEC, ACTION_DIM))
    for row in range(STORED):
        ring = insert(ring, jax.tree.map(lambda leaf, row=row: leaf[row], transitions))
    return ring


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1] if len(sys.argv) > 1 else "all_cores")))
