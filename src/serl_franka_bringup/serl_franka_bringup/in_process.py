"""The whole loop in one thread of one process: simulation, expert, environment, learner.

The same classes that the nodes wrap, called directly in lockstep, so a run repeats exactly for
its seed. Used by tests, tuning and result tables:
`python -m serl_franka_bringup.in_process --seed 0 --max-steps 3000 --set learner.utd_ratio=4`.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.task import TaskConfig
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_franka_bringup import config, graph
from serl_franka_bringup.output import binomial_interval, write_json
from serl_franka_bringup.task import find_task_file, load_task
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.policy import Policy
from serl_learner.types import Observation, Record, Source, spec_of
from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig
from serl_sim.expert import ExpertConfig, ScriptedExpert
from serl_sim.simulation import Simulation

ACTION_DIM = 6
EVALUATION = 1_000_000  # seed of the first evaluation episode: the same starts for every policy
Choose = Callable[[Observation], np.ndarray]


class SimulationClient:
    """A RobotClient that calls the simulation; the expert is the operator."""

    def __init__(self, simulation: Simulation, expert: ScriptedExpert) -> None:
        self._simulation, self._expert = simulation, expert

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Places the tool and draws the scene; the expert begins anew."""
        self._expert.reset(seed)
        return self._simulation.reset(seed, start, randomise=True)

    def step(self, target: ArmTarget) -> ArmState:
        """One control period."""
        return self._simulation.step(target)

    def hold(self) -> None:
        """Nothing to do: without a command no time passes."""

    def intervention(self, state: ArmState) -> Intervention:
        """What the expert would do now."""
        return Intervention(state.stamp_ns, True, self._expert.act(state), device="expert")

    def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True)
class Episode:
    """What one episode came to."""

    success: bool
    steps: int


class Loop:
    """One actor and one learner, taking turns."""

    def __init__(self, task: str, seed: int, overrides: dict[str, dict[str, Any]]) -> None:
        file = load_task(find_task_file(task), graph.NODES)
        arguments = graph.Arguments(seed=seed)
        nodes = graph.make_graph(file, arguments, overrides, cores=1)
        p = {node.name: config.unflatten(node.parameters) for node in nodes}
        scene = config.build(SceneConfig, p["sim"].get("scene", {}), "sim.scene")
        compliance = config.build(Compliance, p["sim"].get("compliance", {}), "sim.compliance")
        self.task = config.build(TaskConfig, p["actor"].get("task", {}), "actor.task")
        expert = config.build(ExpertConfig, p["expert"].get("expert", {}), "expert.expert")
        learner = config.build(LearnerConfig, p["learner"], "learner")
        law = compliance.law_parameters(scene.target)
        simulation = Simulation(scene, law, self.task.control_period)
        self.client = SimulationClient(simulation, ScriptedExpert(expert))
        self.environment = Environment(self.client, self.task)
        spec = spec_of(self.environment.reset(seed=0)[0])
        self.learner = Learner(learner, spec, ACTION_DIM, seed)
        self.policy = Policy(spec, ACTION_DIM, learner.agent)
        self.seed, self.episodes, self.seq = seed, 0, 0
        self.key = jax.random.PRNGKey(seed + 1)
        self.rng = np.random.default_rng((seed, 2))

    def expert(self, observation: Observation) -> np.ndarray:
        """The scripted expert's action."""
        state = self.environment.state
        return self.client.intervention(state).action(state.tcp_pose)

    def random(self, observation: Observation) -> np.ndarray:
        """Uniform in [-1, 1]."""
        return self.rng.uniform(-1.0, 1.0, ACTION_DIM)

    def sampled(self, observation: Observation) -> np.ndarray:
        """Drawn from the policy as it is now."""
        self.key, key = jax.random.split(self.key)
        return self.policy.sample(self.learner.agent.actor, observation, key)

    def deterministic(self, observation: Observation) -> np.ndarray:
        """The policy's mode."""
        return self.policy.mode(self.learner.agent.actor, observation)

    def records(self, choose: Choose, source: Source, seed: int) -> Iterator[Record]:
        """Plays one episode and yields its records as they come; `choose` picks actions."""
        observation, _ = self.environment.reset(seed=seed)
        self.episodes += 1
        terminated = truncated = False
        step = 0
        while not terminated and not truncated:
            after, reward, terminated, truncated, info = self.environment.step(choose(observation))
            yield self._record(
                step,
                observation,
                source,
                action=info["executed_action"],
                reward=reward,
                terminated=terminated,
                truncated=truncated,
            )
            observation, step = after, step + 1
        yield self._record(step, observation, source, action=None, last=True, success=terminated)

    def _record(self, step: int, observation: Observation, source: Source, **fields: Any) -> Record:
        self.seq += 1
        return Record(
            b"in process", self.seq - 1, self.episodes, step, observation, source=source, **fields
        )

    def play(self, choose: Choose, source: Source, seed: int) -> Episode:
        """One episode that the learner does not see."""
        *_, last = self.records(choose, source, seed)
        return Episode(last.success, last.step)

    def demonstrate(self, count: int) -> list[Episode]:
        """Episodes of the expert until `count` succeeded; only those reach the learner."""
        episodes: list[Episode] = []
        while sum(e.success for e in episodes) < count:
            seed = int(np.random.SeedSequence((self.seed, 4, len(episodes))).generate_state(1)[0])
            records = list(self.records(self.expert, Source.DEMO, seed))
            episodes.append(Episode(records[-1].success, records[-1].step))
            for record in records if records[-1].success else ():
                self.learner.add(record)
        return episodes

    def evaluate(self, choose: Choose, count: int) -> dict[str, Any]:
        """Success rate with its interval, and mean time of the successes [s]."""
        played = [self.play(choose, Source.EVAL, EVALUATION + i) for i in range(count)]
        times = [e.steps * self.task.control_period for e in played if e.success]
        return {
            "success": len(times) / count,
            "interval": binomial_interval(len(times), count),
            "mean_time": float(np.mean(times)) if times else None,
        }

    def train(self, max_steps: int, report: Callable[[dict[str, Any]], None], every: int) -> None:
        """Random warm-up, then the sampled policy, until `max_steps` online steps.

        `report` gets a line of the curve every `every` steps; keys as in `_curve_point`.
        """
        recent: deque[Episode] = deque(maxlen=20)
        metrics: dict[str, float] = {}
        began = time.monotonic()
        while self.learner.online_steps < max_steps:
            choose, source = self.sampled, Source.POLICY
            if not self.learner.training:
                choose, source = self.random, Source.RANDOM
            seed = int(np.random.SeedSequence((self.seed, 5, self.episodes)).generate_state(1)[0])
            for record in self.records(choose, source, seed):
                before = self.learner.online_steps // every
                self.learner.add(record)
                while (done := self.learner.work()) is not None:
                    metrics = done
                if self.learner.online_steps // every > before:
                    report(self._curve_point(recent, metrics, time.monotonic() - began))
            recent.append(Episode(record.success, record.step))

    def _curve_point(
        self, recent: Sequence[Episode], metrics: dict[str, float], wall_s: float
    ) -> dict[str, Any]:
        return {
            "env_steps": self.learner.online_steps,
            "updates": self.learner.updates,
            "success_last_20": float(np.mean([e.success for e in recent])) if recent else 0.0,
            "length_last_20": float(np.mean([e.steps for e in recent])) if recent else 0.0,
            **metrics,
            "wall_s": wall_s,
        }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Demonstrations, training and evaluations as told; prints the curve and returns it all."""
    _, overrides = graph.parse_arguments(text.replace("=", ":=", 1) for text in arguments.set)
    loop = Loop(arguments.task, arguments.seed, overrides)
    began = time.monotonic()
    demonstrations = loop.demonstrate(arguments.demos)
    result: dict[str, Any] = {
        "seed": arguments.seed,
        "demonstrations": {
            "episodes": len(demonstrations),
            "successes": sum(e.success for e in demonstrations),
            "mean_length": float(np.mean([e.steps for e in demonstrations if e.success])),
        },
        "curve": [],
        "evaluations": [],
    }
    print(f"demonstrations {result['demonstrations']}", flush=True)

    def evaluate() -> None:
        both = {
            "deterministic": loop.evaluate(loop.deterministic, arguments.episodes),
            "sampled": loop.evaluate(loop.sampled, arguments.episodes),
        }
        result["evaluations"].append({"env_steps": loop.learner.online_steps, **both})
        print(f"evaluation {result['evaluations'][-1]}", flush=True)

    def report(point: dict[str, Any]) -> None:
        result["curve"].append(point)
        print("  ".join(f"{k} {v:.4g}" for k, v in point.items()), flush=True)

    for steps in range(arguments.eval_every, arguments.max_steps, arguments.eval_every):
        loop.train(steps, report, arguments.report_every)
        evaluate()
    loop.train(arguments.max_steps, report, arguments.report_every)
    evaluate()
    result["wall_s"] = time.monotonic() - began
    write_json(arguments.json, result)
    return result


def main() -> None:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--demos", type=int, default=20, help="successful demonstrations")
    parser.add_argument("--max-steps", type=int, default=3000, help="online environment steps")
    parser.add_argument("--episodes", type=int, default=50, help="per evaluation and policy")
    parser.add_argument("--eval-every", type=int, default=10**9, help="environment steps")
    parser.add_argument("--report-every", type=int, default=100, help="environment steps")
    parser.add_argument("--set", nargs="*", default=[], metavar="NODE.PARAMETER=VALUE")
    parser.add_argument("--json", type=Path)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
