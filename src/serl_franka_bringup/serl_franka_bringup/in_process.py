"""The whole loop in one thread of one process: simulation, expert, environment, job, learner.

The same classes that the nodes wrap, called directly in lockstep, so a run repeats exactly for
its seed. Used by tests, tuning and result tables:
`python -m serl_franka_bringup.in_process --seed 0 --max-steps 3000 --set learner.utd_ratio=4`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from serl_actor.evaluation import Evaluation
from serl_actor.job import Job
from serl_franka_bringup.arguments import INTERVENTIONS, LEARN, REWARDS
from serl_franka_bringup.in_process_crew import InProcessCrew, Report
from serl_franka_bringup.output import write_json
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.simulation_client import Setup, load_given
from serl_franka_bringup.task import OBSERVATIONS


def train(setup: Setup, report: Report = lambda _: None, **options: Any) -> dict[str, Any]:
    """The whole job; `options` as for InProcessCrew. Returns the job's result, with more points."""
    crew = InProcessCrew(setup, report, **options)
    result = Job(setup.job, crew, time.monotonic).run()
    setup.client.close()
    operator = Evaluation.of(crew.operator_episodes)
    return {
        "seed": setup.seed,
        **result,
        "demonstrations": asdict(operator),
        "evaluations": crew.evaluations,
        "points": crew.points,
    }


def main() -> None:
    """Runs the job as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--observation", choices=OBSERVATIONS, help="without: the task's")
    parser.add_argument("--demos", type=int, help="successful demonstrations")
    parser.add_argument("--max-steps", type=int, help="online environment steps")
    parser.add_argument("--until", type=float, help="stop at this success of the last 20")
    parser.add_argument("--episodes", type=int, help="per evaluation and policy")
    parser.add_argument("--eval-every", type=int, help="environment steps between evaluations")
    parser.add_argument("--eval-episodes", type=int, help="of each of these; without: --episodes")
    parser.add_argument("--interventions", choices=INTERVENTIONS, default="none")
    parser.add_argument("--learn", choices=LEARN, default="rl")
    parser.add_argument("--warm-start", action="store_true", help="clone demonstrations first")
    parser.add_argument("--imitate", action=argparse.BooleanOptionalAction)
    parser.add_argument("--report-every", type=int, default=100, help="environment steps")
    add_settings(parser)
    parser.add_argument("--reward", choices=REWARDS, default="sparse")
    parser.add_argument("--reward-model", default="", metavar="FILE", help="without: the task's")
    parser.add_argument("--films", default="", metavar="DIR", help="of the last evaluation")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    names: tuple[str, ...] = ("seed", "demos", "max_steps", "until", "episodes", "observation")
    names += ("reward", "reward_model", "interventions", "learn", "warm_start", "imitate")
    result = train(
        load_given(given, given.films, **{name: getattr(given, name) for name in names}),
        lambda point: print(_line(point), flush=True),
        report_every=given.report_every,
        eval_every=given.eval_every,
        eval_episodes=given.eval_episodes,
    )
    print({k: v for k, v in result.items() if k not in ("curve", "points", "evaluations")})
    write_json(given.json, result)


def _line(point: Mapping[str, Any]) -> str:
    return "  ".join(f"{k} {v:.4g}" for k, v in point.items() if v is not None)


if __name__ == "__main__":
    main()
