"""What RLPD has to beat, over the same start poses: cloning, chance, blindness, the expert.

`python -m serl_franka_bringup.baselines bc --seed 0 --episodes 50`
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from serl_actor.evaluation import Evaluation, summarise
from serl_actor.policy_source import Snapshot
from serl_actor.rollout import Choice, Driver, Episode
from serl_franka_bringup.in_process_crew import InProcessCrew
from serl_franka_bringup.output import write_json
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.simulation_client import Setup, load_given
from serl_franka_bringup.task import OBSERVATIONS
from serl_learner.bc import BCConfig, clone
from serl_learner.types import Observation, Source

KINDS = ("bc", "random", "down", "expert")
DOWN = (0.0, 0.0, 1.0)  # along the tool's z, as fast as allowed


class BlindDriver:
    """Acts whatever it sees."""

    def __init__(self, act: Callable[[], np.ndarray]) -> None:
        self._act = act

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, observation: Observation, state: Any) -> Choice:
        """The next action."""
        return Choice(self._act(), Source.EVAL)


def evaluate(crew: InProcessCrew, setup: Setup, driver: Driver) -> Evaluation:
    """The driver over the task's evaluation episodes."""
    first, count = setup.job.evaluation_seed, setup.job.evaluation_episodes
    episodes: list[Episode] = [crew.run(driver, first + i) for i in range(count)]
    return Evaluation.of(episodes)


def run_bc(crew: InProcessCrew, setup: Setup) -> dict[str, Any]:
    """Clones the demonstrations that RLPD would get for this seed; the better policy counts."""
    while crew.demonstrations() < setup.job.demonstrations:
        crew.run(crew.operator())
    config = BCConfig(policy=setup.learner.agent)
    key = jax.random.PRNGKey(setup.seed)
    params, fit = clone(crew.demonstrated, crew.learner.spec, setup.task.action_dim, config, key)
    snapshot = Snapshot(1, int(fit["updates"]), params, time.monotonic(), encoded=None)  # type: ignore[arg-type]
    results = {
        name: evaluate(crew, setup, crew.evaluated(snapshot, name == "deterministic"))
        for name in ("deterministic", "sampled")
    }
    best = max(results, key=lambda name: results[name].rate)
    demonstrations = asdict(Evaluation.of(crew.operator_episodes))
    return {**summarise(results, best), "fit": fit, "demonstrations": demonstrations}


def run_driver(kind: str, crew: InProcessCrew, setup: Setup) -> dict[str, Any]:
    """One policy that learns nothing."""
    rng, dim = np.random.default_rng(setup.seed), setup.task.action_dim
    down = np.array((*DOWN, *(0.0,) * (dim - len(DOWN))))
    drivers = {
        "random": BlindDriver(lambda: rng.uniform(-1.0, 1.0, dim)),
        "down": BlindDriver(lambda: down),
        "expert": crew.operator(),
    }
    return summarise({kind: evaluate(crew, setup, drivers[kind])}, kind)


def main() -> None:
    """Evaluates one baseline as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--observation", choices=OBSERVATIONS, help="without: the task's")
    parser.add_argument("--episodes", type=int, default=50)
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    setup = load_given(
        given, seed=given.seed, episodes=given.episodes, observation=given.observation
    )
    crew = InProcessCrew(setup)
    measured = run_bc(crew, setup) if given.kind == "bc" else run_driver(given.kind, crew, setup)
    result = {"kind": given.kind, "seed": given.seed, **measured}
    print(result)
    write_json(given.json, result)


if __name__ == "__main__":
    main()
