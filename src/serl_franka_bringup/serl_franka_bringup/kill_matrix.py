"""Trains while process after process is killed, then audits what was kept.

`python -m serl_franka_bringup.kill_matrix --kills 10 --seed 0` runs the ordinary training session.
Every node is killed with SIGKILL so often, at random moments of demonstrations, warm-up and
training; each next kill comes after training has resumed. The exit code is 0 if nothing that was
acknowledged is lost, doubled or mislabelled, all was resumed in time and the policy still succeeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from serl_franka_bringup import graph
from serl_franka_bringup.job_command import read_result
from serl_franka_bringup.kill_plan import Span, make_plan
from serl_franka_bringup.kill_report import Limits, Outcome, make_report, print_report
from serl_franka_bringup.killer import Killer
from serl_franka_bringup.log_audit import Journal, audit, read_journal
from serl_franka_bringup.output import write_json
from serl_franka_bringup.own_session import own_directory, plan_own, run_fresh
from serl_franka_bringup.plan import Plan
from serl_franka_bringup.settings import add_settings
from serl_franka_bringup.sightings import Sightings
from serl_franka_bringup.task import OBSERVATIONS
from serl_franka_bringup.write_watch import WriteWatch
from serl_learner.episodes import Episode, EpisodeError

CHECKPOINT_PERIOD = 3.0
"""Between two checkpoints [s]: some to be killed in, and little to do again after a kill."""
PATIENCE = 120.0
"""From a kill to the resumption [s]; after that the run is given up."""


@dataclass(frozen=True)
class Places:
    """Where a run keeps what is audited."""

    run: Path

    @property
    def journal(self) -> Path:
        """The actor's own record."""
        return self.run / "journal.jsonl"

    @property
    def demonstrations(self) -> Path:
        """Of this run alone."""
        return self.run / "demonstrations"

    @property
    def log(self) -> Path:
        """All other episodes."""
        return self.run / "episodes"

    def episodes(self, unreadable: list[str]) -> Iterator[tuple[Path, Episode]]:
        """Every file of the log; what is wrong with one that cannot be read is added there."""
        from serl_learner.ros_log import read_episode

        for directory in (self.demonstrations, self.log):
            for path in sorted(directory.glob("*.mcap")):
                try:
                    yield path, read_episode(path)
                except EpisodeError as error:
                    unreadable.append(str(error))


def plan_matrix(given: argparse.Namespace) -> Plan:
    """The ordinary run of the task, with a journal and demonstrations of its own."""
    places = Places(own_directory(given))
    options = {
        "max_steps": given.max_steps,
        "episodes": given.episodes,
        "actor.journal": places.journal,
        "learner.checkpoint_every_s": CHECKPOINT_PERIOD,
    }
    return plan_own(given, places.run, options)


def span_of(plan: Plan) -> Span:
    """How long the run is, in demonstrations and steps."""
    from serl_actor.job import JobConfig
    from serl_learner.learner import LearnerConfig

    parameters = graph.configuration(plan.nodes)
    job, learner = parameters["actor"], parameters["learner"]
    return Span(
        int(job.get("job.demonstrations", JobConfig.demonstrations)),
        int(learner.get("training_starts", LearnerConfig.training_starts)),
        int(job.get("job.max_env_steps", JobConfig.max_env_steps)),
    )


def run_matrix(plan: Plan, kinds: Sequence[str], kills: int, seed: int) -> Outcome:
    """The whole run with its kills, and the audit of what it left."""
    from serl_franka_bringup.ros_witness import Witness

    places = Places(plan.directory)
    sightings = Sightings()
    moments = make_plan(kinds, kills, span_of(plan), seed)
    watch = WriteWatch(plan.directory / "checkpoints")
    killer = Killer(moments, sightings, watch, PATIENCE)
    ending = run_fresh(plan, (Witness(sightings), killer))
    unreadable: list[str] = []
    journal = read_journal(places.journal) if places.journal.exists() else Journal()
    return Outcome(
        planned=moments,
        survivals=tuple(killer.survivals),
        began=ending.progress.started_at,
        result=read_result(plan.directory, ending),
        counters={
            name: sightings.counter(name)
            for name in ("online_steps", "demonstrations", "rejected_records")
        },
        audit=audit(places.episodes(unreadable), journal, sightings.acknowledged()),
        unreadable=unreadable,
        torn_lines=journal.torn,
        withdrawn=sightings.withdrawn(),
    )


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--observation", choices=OBSERVATIONS, default="state", help="of the task")
    parser.add_argument("--kills", type=int, default=10, help="of each kind of node (default 10)")
    parser.add_argument("--kinds", help="nodes to kill, with commas (default all)")
    parser.add_argument("--seed", type=int, default=0, help="of the run and of the kills")
    parser.add_argument("--max-steps", type=int, help="environment steps (default the task's)")
    parser.add_argument("--episodes", type=int, help="evaluation episodes for each policy")
    parser.add_argument("--success", type=float, default=0.9, help="to be reached (default 0.9)")
    parser.add_argument(
        "--resume-within", type=float, default=10.0, help="of the respawn [s] (default 10)"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/kill_matrix"))
    add_settings(parser)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


def main() -> int:
    """Runs the matrix; 0 if every check holds."""
    given = parse()
    plan = plan_matrix(given)
    names = [node.name for node in plan.nodes]
    kinds = given.kinds.split(",") if given.kinds else names
    if unknown := set(kinds) - set(names):
        print(f"kinds {', '.join(sorted(unknown))} are not among {', '.join(names)}")
        return 2
    outcome = run_matrix(plan, kinds, given.kills, given.seed)
    report = make_report(outcome, Limits(given.resume_within, given.success))
    print_report(report)
    write_json(given.json, {**report, "run_dir": str(plan.directory)})
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
