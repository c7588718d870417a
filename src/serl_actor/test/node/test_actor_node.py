"""The actor node over real topics."""

from __future__ import annotations

import errno
import itertools
import json
import threading
import time

import numpy as np
import pytest
from fakes import DOWN, Ear
from rclpy.node import Node

from serl_actor.actor_node import ActorNode
from serl_actor.job import JobFailed
from serl_actor.recorder import SENT
from serl_actor.robot_client import StaleState
from serl_actor.task import TaskConfig
from serl_actor.training import Training
from serl_actor.workspace import Workspace
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import COMMAND, STATE
from serl_interfaces.action import Evaluate
from serl_interfaces.msg import ArmCommand, Observation
from serl_learner.types import Source


def test_a_whole_job(bench, tmp_path):
    learner = bench.learner(held=0)
    bench.sim(twist=DOWN)
    bench.actor(job__demonstrations=1, run_dir=str(tmp_path))
    bench.wait_phase(learner, "done")
    demonstration = learner.of(Source.DEMO)
    assert [r.step for r in demonstration] == [0, 1, 2]
    assert demonstration[-1].success
    assert demonstration[1].terminated
    online = learner.of(Source.POLICY)
    assert [r.last for r in online] == [False] * 4 + [True]
    assert online[0].policy_version == 1
    assert online[3].truncated
    assert len(learner.of(Source.EVAL)) >= 4
    assert [r.seq for r in learner.records] == list(range(len(learner.records)))
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["env_steps"], result["episodes"], result["evaluation_episodes"]) == (4, 1, 1)
    phases = list(dict.fromkeys(status.phase for status in learner.statuses))
    assert phases == ["starting", "demonstrations", "training", "evaluation", "done"]
    bench.wait(lambda: learner.metrics.get("actor/env_steps") == 4, "the metrics")
    assert learner.metrics["actor/demonstrations"] == 1


def test_case_15_waits_for_the_learner_and_the_sim_and_goes_on_by_itself(bench):
    ear = bench.add(Ear)
    bench.actor()
    bench.wait(lambda: ear.said("the learner"), "the actor to wait for the learner", ear)
    learner = bench.learner()
    bench.wait(lambda: learner.said("the sim"), "the actor to wait for the sim", learner)
    bench.sim()
    bench.wait_phase(learner, "done")
    assert learner.statuses[-1].waiting_for == ""


def test_demonstrations_wait_for_an_operator(bench):
    learner = bench.learner(held=0)
    bench.sim()
    bench.actor(job__demonstrations=1)
    bench.wait(lambda: learner.said("an operator"), "the actor to wait for an operator")
    assert learner.phase == "demonstrations"


def test_case_12_an_intervention_beyond_one_is_stored_clipped(bench):
    learner = bench.learner()
    sim = bench.sim(twist=np.array((0.0, 0.0, 0.2, 0.0, 0.0, 9.0)))
    bench.actor(job__interventions=True, job__max_env_steps=1000)
    bench.wait(lambda: len(learner.of(Source.INTERVENTION)) > 8, "interventions", learner)
    driven = [r for r in learner.of(Source.INTERVENTION) if not r.last]
    for record in driven:
        np.testing.assert_allclose(record.action, (0, 0, 0.2, 0, 0, 1), atol=1e-6)
    turns = [
        a.distance(b)[1]
        for (seq, a), (following, b) in itertools.pairwise(sim.commands[-8:])
        if following == seq + 1
    ]
    np.testing.assert_allclose(turns, 0.06, atol=1e-6)


def test_case_11_a_second_publisher_on_arm_command_stops_the_actor(bench):
    learner = bench.learner()
    rival = bench.add(Node, "rival")
    publisher = rival.create_publisher(ArmCommand, "arm/command", COMMAND)
    actor = bench.actor()
    bench.wait(lambda: actor._environment.robot._topics._rivals, "the rival to be seen")
    sim = bench.sim()
    bench.wait(lambda: learner.said("/rival"), "the alarm", learner)
    assert sim.commands == []
    rival.destroy_publisher(publisher)
    bench.wait_phase(learner, "done")


def test_a_lost_command_is_sent_again_with_the_same_number(bench):
    learner = bench.learner()
    sim = bench.sim(deaf=2)
    bench.actor()
    bench.wait_phase(learner, "done")
    assert [seq for seq, _ in sim.commands][:4] == [1, 1, 1, 2]


def test_case_14_without_credit_the_actor_waits_for_it(bench):
    learner = bench.learner(credit=2)
    sim = bench.sim()
    bench.actor()
    bench.wait(lambda: learner.said("credit"), "the actor to wait for credit")
    assert [r.seq for r in learner.records] == [0, 1]
    assert len(sim.commands) == 3  # the record of the third step waits
    learner.credit = 1000
    bench.wait_phase(learner, "done")


def test_observations_are_published_to_who_listens(bench):
    seen = []
    learner = bench.learner()
    learner.create_subscription(Observation, "observation", seen.append, STATE)
    bench.sim()
    bench.actor(job__max_env_steps=400)
    bench.wait(lambda: len(seen) > 5, "observations")
    assert [tensor.name for tensor in seen[0].tensors] == sorted(t.name for t in seen[0].tensors)
    assert seen[0].header.frame_id == "fixture"
    bench.wait_phase(learner, "done")


def test_evaluation_on_demand(bench):
    learner = bench.learner()
    bench.sim()
    bench.actor()
    bench.wait_phase(learner, "done")
    client = bench.evaluation(learner)
    goal = Evaluate.Goal(episodes=2, deterministic=True, seed=3)
    accepted = client.send_goal_async(goal)
    bench.wait(accepted.done, "the goal to be accepted")
    future = accepted.result().get_result_async()
    bench.wait(future.done, "the evaluation")
    result = future.result().result
    assert (result.success, result.episodes, result.message) == (True, 2, "policy version 1")


def test_an_evaluation_that_cannot_be_played_ends_with_a_result_and_the_job_goes_on(
    bench, monkeypatch
):
    learner = bench.learner()
    bench.sim()
    actor = bench.actor()
    bench.wait_phase(learner, "done")
    client = bench.evaluation(learner)

    def evaluate():
        accepted = client.send_goal_async(Evaluate.Goal(episodes=1))
        bench.wait(accepted.done, "the goal to be accepted")
        future = accepted.result().get_result_async()
        bench.wait(future.done, "the result")
        return future.result().result

    def refuse(driver, seed):
        raise JobFailed("the robot refused 5 starts in a row")

    with monkeypatch.context() as patch:
        patch.setattr(actor._crew, "play", refuse)
        result = evaluate()
    assert (result.success, result.message) == (False, "the robot refused 5 starts in a row")
    assert evaluate().success
    assert actor.failure is None


def test_an_evaluation_under_way_ends_with_a_result_when_the_actor_is_stopped(bench):
    learner = bench.learner()
    bench.sim()
    actor = bench.actor()
    bench.wait_phase(learner, "done")
    client = bench.evaluation(learner)
    accepted = client.send_goal_async(Evaluate.Goal(episodes=10**6))
    bench.wait(lambda: learner.of(Source.EVAL)[-1].episode > 10, "the evaluation")
    future = accepted.result().get_result_async()
    assert actor.stop(bench.spin)
    bench.wait(future.done, "the result")
    assert future.result().result.message == "the actor was stopped"


def test_stopped_while_its_thread_is_stuck_the_real_arm_is_held(bench, monkeypatch):
    learner = bench.learner()
    sim = bench.sim(realtime=True)
    actor = bench.actor(
        lockstep=False,
        job__max_env_steps=10**6,
        task__episode_steps=1000,
        task__start_height=0.2,
        task__control_period=0.02,
        robot__state_age=5.0,
    )
    bench.wait(lambda: len(learner.of(Source.POLICY)) > 5, "the policy to act", learner)
    stuck, go_on = threading.Event(), threading.Event()

    def sample(*_):
        stuck.set()
        go_on.wait()
        raise StaleState("it was stuck")

    monkeypatch.setattr(actor._crew._policy, "sample", sample)
    bench.wait(stuck.is_set, "the thread to be stuck")
    pose, count = sim.state().tcp_pose, len(sim.commands)
    assert not actor.stop(bench.spin)
    bench.wait(lambda: len(sim.commands) > count, "the command to hold")
    go_on.set()
    held = Workspace.of(actor._config.task).clip(pose)
    np.testing.assert_allclose(sim.commands[count][1].position, held.position, atol=1e-9)


def test_a_result_that_cannot_be_written_ends_the_actor_and_that_is_said(bench, tmp_path):
    learner = bench.learner()
    bench.sim()
    (tmp_path / "result.json" / "in the way").mkdir(parents=True)
    actor = bench.actor(run_dir=str(tmp_path))
    bench.wait_phase(learner, "failed")
    assert "directory" in learner.statuses[-1].detail
    assert isinstance(actor.failure, OSError)


def test_a_full_disk_is_waited_for_and_a_failure_is_known_meanwhile(bench, tmp_path, monkeypatch):
    learner = bench.learner()
    bench.sim()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("serl_actor.run_files.write_file", full)
    monkeypatch.setattr("serl_actor.job.Job.run", lambda job: 1 // 0)
    actor = bench.actor(run_dir=str(tmp_path))
    bench.wait(lambda: learner.said("disk space"), "the actor to wait", learner)
    assert isinstance(actor.failure, ZeroDivisionError)
    assert learner.phase != "failed"
    assert actor.stop(bench.spin)
    assert isinstance(actor.failure, ZeroDivisionError)


def test_a_resumed_job_shows_its_counts_from_the_start(bench, tmp_path):
    training = Training(env_steps=123, episodes=4)
    (tmp_path / "actor.json").write_text(json.dumps(training.to_plain()))
    ear = bench.add(Ear)
    bench.actor(run_dir=str(tmp_path))
    bench.wait(lambda: "actor/env_steps" in ear.metrics, "the metrics")
    assert (ear.metrics["actor/env_steps"], ear.metrics["actor/episodes"]) == (123, 4)


def test_real_time_a_silent_arm_aborts_the_episode(bench):
    learner = bench.learner()
    sim = bench.sim(realtime=True)
    bench.actor(
        lockstep=False,
        job__max_env_steps=10_000,
        task__episode_steps=1000,
        task__start_height=0.2,
        robot__state_age=0.3,
    )
    bench.wait(lambda: len(learner.of(Source.POLICY)) > 2, "the first records")
    first, second = (int(r.extras[SENT]) for r in learner.of(Source.POLICY)[:2])
    assert 0 < second - first <= time.monotonic_ns() - first
    sim.alive = False
    bench.wait(lambda: any(r.aborted for r in learner.records), "the episode to be aborted")
    count = len(sim.commands)
    sim.alive = True
    bench.wait(lambda: len(sim.commands) > count + 2, "the actor to go on")


def test_a_real_arm_moves_to_its_start_without_a_service(bench):
    learner = bench.learner()
    sim = bench.sim(realtime=True)
    sim._pose = TaskConfig().target
    bench.actor(lockstep=False, simulated=False, robot__state_age=0.5, task__control_period=0.02)
    bench.wait_phase(learner, "done")
    way = [pose for _, pose in sim.commands[:20]]
    steps = [a.distance(b)[0] for a, b in itertools.pairwise(way)]
    np.testing.assert_allclose(steps, 0.05 * 0.02, atol=1e-6)  # speed * period, no jump
    assert way[-1].position[2] - TaskConfig().target.position[2] == pytest.approx(0.02)


def test_an_unknown_parameter_is_an_error_that_names_it(bench):
    with pytest.raises(ParameterError, match=r"job\.demonstration"):
        bench.add(ActorNode, parameters={"job.demonstration": 3})


def test_a_real_arm_cannot_be_in_lockstep(bench):
    with pytest.raises(ParameterError, match="a real arm does not wait"):
        bench.add(ActorNode, parameters={"simulated": False})
