"""The loop in one process: it repeats exactly, learns from what it is told to, and counts right."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serl_actor.drivers import EvaluationDriver
from serl_actor.environment import Environment
from serl_actor.job import Job, Phase
from serl_actor.policy_source import Snapshot
from serl_actor.recorder import Recorder
from serl_actor.rollout import run_episode
from serl_franka_bringup import graph, in_process
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.in_process_crew import InProcessCrew
from serl_franka_bringup.simulation_client import Setup, load_setup
from serl_learner.cloning import WarmStartConfig
from serl_learner.policy import Policy
from serl_learner.types import Record, Source, spec_of
from serl_sim.gl_backend import DEBIAN_PACKAGES, GLError, find_backend

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
SMALL = {
    "learner": {
        "agent.critics": 2,
        "agent.hidden": (16, 16),
        "batch_size": 16,
        "utd_ratio": 2,
        "training_starts": 100,
    },
    "actor": {"task.threshold": (0.05, 0.05, 0.03, 0.5, 0.5, 0.5), "job.evaluation_episodes": 1},
}


SHORT = WarmStartConfig(enabled=True, updates=20, demonstrations=1)


def setup(seed: int = 3, **arguments) -> Setup:
    return load_setup(
        str(PCB), graph.Arguments(**{"seed": seed, "observation": "state"} | arguments), SMALL
    )


def record_steps(policy: Policy, seed: int, steps: int) -> list[Record]:
    """At least `steps` steps of a fixed policy in a simulation of its own."""
    made = setup(seed)
    records: list[Record] = []
    recorder = Recorder(bytes(16), "test", records.append)
    driver = EvaluationDriver(policy, Snapshot(1, 0, policy.template, 0.0, None), False, seed)
    environment = Environment(made.client, made.task)
    begun = 0
    while sum(not record.last for record in records) < steps:
        run_episode(environment, driver, recorder, 100 * seed + begun)
        begun += 1
    return records


def same(a: Record, b: Record) -> bool:
    return (
        (a.seq, a.episode, a.step, a.stamp_ns) == (b.seq, b.episode, b.step, b.stamp_ns)
        and (a.reward, a.terminated, a.truncated, a.last)
        == (b.reward, b.terminated, b.truncated, b.last)
        and (a.action is None) == (b.action is None)
        and (a.action is None or np.array_equal(a.action, b.action))
        and all(np.array_equal(a.observation[k], b.observation[k]) for k in a.observation)
    )


def test_500_steps_of_a_fixed_policy_repeat_bit_for_bit():
    made = setup()
    observation, _ = Environment(made.client, made.task).reset(seed=0)
    policy = Policy(spec_of(observation), 6, made.learner.agent)
    first, second = record_steps(policy, 1, 500), record_steps(policy, 1, 500)
    assert len(first) == len(second) > 500
    assert all(same(a, b) for a, b in zip(first, second))
    other = record_steps(policy, 2, 10)
    assert not all(same(a, b) for a, b in zip(first, other))


def test_training_repeats_and_keeps_its_ratio():
    results = [in_process.train(setup(demos=1, max_steps=150), report_every=50) for _ in range(2)]
    for result in results:
        result.pop("wall_s")
        for point in result["points"]:
            point.pop("wall_s")
    assert results[0] == results[1]
    points = results[0]["points"]
    for point in points:  # two critic updates for every online step after the first 100
        assert point["updates"] == 2 * max(0, point["env_steps"] - 100)
    assert points[-1]["updates"] > 0


def test_only_successful_demonstrations_reach_the_learner():
    crew = InProcessCrew(setup())
    while crew.demonstrations() < 2:
        crew.run(crew.operator())
    assert all(record.source == Source.DEMO for record in crew.demonstrated)
    ends = [record for record in crew.demonstrated if record.last]
    assert [record.success for record in ends] == [True, True]
    assert crew.learner.online_steps == 0
    assert crew.learner.prior_transitions == len(crew.demonstrated) - 2


def test_nobody_takes_over_in_one_process():
    with pytest.raises(ValueError, match="nobody takes over"):
        InProcessCrew(setup()).policy(interventions=True)


class Keeping(InProcessCrew):
    """Keeps every record that the learner gets."""

    def __init__(self, *args, **options):
        self.kept = []
        super().__init__(*args, **options)

    def _take(self, record):
        self.kept.append(record)
        super()._take(record)


def test_the_scripted_person_corrects_and_both_halves_get_what_they_did():
    """The learner is told of every takeover; an evaluation is the policy's alone."""
    made = setup(demos=1, max_steps=120, interventions="scripted", warm_start=True)
    made = replace(made, learner=replace(made.learner, warm_start=SHORT))
    crew = Keeping(made, report_every=50, eval_every=60, eval_episodes=1)
    result = Job(made.job, crew, time.monotonic).run()
    records = crew.kept
    sources = Counter(r.source for r in records if not r.last)
    assert sources[Source.INTERVENTION] > 0
    assert sources[Source.POLICY] > 0
    assert sum(steps for _, steps in result["corrections"]) == sources[Source.INTERVENTION]
    demonstrated = sum(not r.last for r in records if r.source == Source.DEMO)
    learner = crew.learner
    assert learner.prior_transitions == demonstrated + sources[Source.INTERVENTION]
    assert learner.online_steps == sources[Source.INTERVENTION] + sources[Source.POLICY]
    assert learner.warm_start.cloned == SHORT.updates
    assert crew.evaluations[0]["evaluation_episodes"] == 1
    assert {"alone_last_20", "intervention_rate_last_20"} <= set(crew.points[-1])


def test_an_evaluation_is_filmed_and_nothing_before_it(tmp_path):
    """Or, where nothing draws, it is said what to install."""
    try:
        find_backend()
    except GLError:
        with pytest.raises(GLError, match=DEBIAN_PACKAGES):
            load_setup(str(PCB), graph.Arguments(seed=3), SMALL, str(tmp_path))
        return
    made = load_setup(str(PCB), graph.Arguments(seed=3), SMALL, str(tmp_path))
    crew = InProcessCrew(made)
    crew.say(Phase.TRAINING, "policy")
    crew.run(crew.random(), 1)
    crew.say(Phase.EVALUATION, "sampled policy", "0 of 0 solved")
    episode = crew.run(crew.evaluated(crew.snapshot(), deterministic=False), 1)
    made.client.close()
    outcome = "success" if episode.success else "not_solved"
    assert [path.name for path in tmp_path.iterdir()] == [f"001_sampled_policy_{outcome}.mp4"]


@pytest.mark.parametrize(("gripper", "enabled"), [("binary", True), ("learned", False)])
def test_a_grasp_critic_goes_with_a_learned_gripper_in_process_too(gripper, enabled):
    said = {"actor": {"task.gripper": gripper}, "learner": {"agent.grasp.enabled": enabled}}
    pick = str(PCB.with_name("pick.yaml"))
    named = f"pick.yaml: agent.grasp.enabled is {enabled} and task.gripper is '{gripper}'"
    with pytest.raises(ConfigError, match=named):
        load_setup(pick, graph.Arguments(), said)
