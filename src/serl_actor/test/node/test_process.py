"""The actor as a process: parameters on the command line, signals, exit codes."""

from __future__ import annotations

import signal

import pytest
from fakes import Ear

from serl_interfaces.action import Evaluate


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_waits_ends_it_cleanly(bench, start, number):
    ear = bench.add(Ear)
    process = start()
    bench.wait(lambda: ear.said("the learner"), "the actor to wait for the learner")
    process.send_signal(number)
    assert process.wait(timeout=20.0) == 0


def test_a_signal_in_an_episode_aborts_it_and_its_records_are_whole(bench, start):
    learner = bench.learner()
    bench.sim()
    process = start(task__episode_steps=100, job__max_env_steps=10**6, job__interventions=False)
    bench.wait(lambda: len(learner.records) > 110, "records", learner)
    process.send_signal(signal.SIGINT)
    bench.wait(lambda: process.poll() is not None, "the process to end")
    bench.wait(lambda: learner.records[-1].last, "the last record")
    assert learner.records[-1].aborted
    assert process.returncode == 0


def test_an_evaluation_that_is_asked_for_in_the_executor_of_the_process(bench, start):
    learner = bench.learner()
    bench.sim()
    start()
    bench.wait(lambda: learner.phase == "done", "the job to end", learner)
    client = bench.evaluation(learner)
    feedback = []
    accepted = client.send_goal_async(Evaluate.Goal(episodes=2, seed=3), feedback.append)
    bench.wait(accepted.done, "the goal to be accepted")
    future = accepted.result().get_result_async()
    bench.wait(future.done, "the evaluation")
    assert future.result().result.episodes == 2
    bench.wait(lambda: feedback, "feedback")


def test_a_wrong_parameter_ends_it_with_its_name(start):
    process = start(job__until=1.5)
    assert process.wait(timeout=60.0) == 1
    assert "until is 1.5" in process.stderr.read()
