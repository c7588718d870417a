"""The link to the learner over real topics: late joiners, damage, verdicts, and what is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from params_publisher import large_policy
from rclpy.node import Node

from serl_actor.policy_source import PolicySource
from serl_actor.ros_learner_link import SPILL_CODEC, LearnerLink
from serl_actor.ros_params_link import ParamsLink
from serl_actor.transition_sender import SenderConfig
from serl_interfaces.msg import PolicyParams
from serl_interfaces.srv import RelabelSteps
from serl_learner.process_lock import AlreadyRunning
from serl_learner.types import Record, Relabel, Source

LATE = 5.0
"""Within which a late joiner has 20 MB of parameters [s]."""


@pytest.fixture
def publisher(domain):
    """A learner's process that has published 20 MB once; its size [byte] and crc32."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "JAX_PLATFORMS": "cpu"}
    script = Path(__file__).with_name("params_publisher.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    )
    size, crc32 = (int(text) for text in process.stdout.readline().split())
    yield size, crc32
    process.kill()
    process.communicate()


def join_late(bench, publisher):
    """An actor's side of the link appears, and has the parameters in time."""
    size, crc32 = publisher
    assert size > 20e6
    source = PolicySource(large_policy(), time.monotonic)
    node = bench.add(Node, "actor")
    LearnerLink(node, "actor", b"s" * 16, source, SenderConfig())
    bench.wait(lambda: source.newest_version == 5, "the parameters", deadline=LATE)
    encoded = source.swap().encoded
    assert (len(encoded.data), zlib.crc32(encoded.data)) == (size, crc32)


def test_who_joins_late_gets_20_mb_at_once(bench, publisher):
    join_late(bench, publisher)


def test_a_window_that_the_topic_does_not_hold_is_refused(bench):
    source = PolicySource(large_policy(), time.monotonic)
    with pytest.raises(ValueError, match="window is 512, expected less than .* 512"):
        LearnerLink(bench.add(Node, "actor"), "actor", b"s" * 16, source, SenderConfig(window=512))


@pytest.mark.slow
def test_who_joins_a_minute_late_gets_20_mb_at_once(bench, publisher):
    time.sleep(60.0)  # the minute is what is tested
    join_late(bench, publisher)


def test_a_flipped_byte_is_refused_counted_and_fetched_again(bench):
    learner = bench.learner(damaged=True)
    bench.sim()
    bench.actor(job__max_env_steps=10**6)
    bench.wait(lambda: learner.of(Source.POLICY), "a step of the policy", learner)
    assert learner.fetches == 1
    assert {r.policy_version for r in learner.of(Source.POLICY)} == {1}
    bench.wait(lambda: learner.metrics.get("actor/refused_params") == 1, "the count")


def test_parameters_are_decoded_beside_the_executor_and_only_the_newest(bench):
    node = bench.add(Node, "actor")
    entered, go_on = threading.Event(), threading.Event()
    offered: list[int] = []

    class Source:
        newest_version = 1
        arriving = False

        def offer(self, encoded):
            entered.set()
            go_on.wait(10.0)
            offered.append(encoded.version)

    link = ParamsLink(node, Source(), lambda: True)
    for version in (2, 3, 4):
        link._on_params(PolicyParams(version=version))  # returns while the first is under way
        assert entered.wait(10.0)
    assert offered == []
    go_on.set()
    bench.wait(lambda: offered and offered[-1] == 4, "the newest")
    assert len(offered) == 2


def test_a_late_verdict_takes_the_next_number_of_the_session(bench, tmp_path):
    learner = bench.learner()
    bench.sim()
    journal = tmp_path / "journal.jsonl"
    bench.actor(journal=str(journal))
    bench.wait_phase(learner, "done")
    client = learner.create_client(RelabelSteps, "relabel")
    bench.wait(client.service_is_ready, "the service")
    judged = learner.of(Source.POLICY)[1]
    request = RelabelSteps.Request(
        episode=judged.episode, first_step=1, last_step=2, reward=-0.5, terminated=True
    )
    answer = client.call_async(request)
    bench.wait(answer.done, "the answer")
    assert answer.result().success, answer.result().message
    (relabel,) = bench.wait(learner.relabels, "the relabel")
    assert (relabel.first_seq, relabel.last_seq) == (judged.seq, judged.seq + 1)
    assert (relabel.reward, relabel.terminated, relabel.actor_id) == (-0.5, True, "actor")
    lines = [json.loads(line) for line in journal.open()]
    (entries,) = learner.sessions.values()
    assert [line["seq"] for line in lines] == [entry.seq for entry in entries]
    assert lines[-1]["kind"] == "relabel"
    assert [line["session"] for line in lines] == [entry.session.hex() for entry in entries]
    wrong = client.call_async(RelabelSteps.Request(episode=0, last_step=9999))
    bench.wait(wrong.done, "the answer")
    assert not wrong.result().success
    assert "9999" in wrong.result().message


def test_the_best_policy_is_asked_for_until_it_is_kept(bench, tmp_path):
    learner = bench.learner(refusals=1)
    bench.sim()
    bench.actor(run_dir=str(tmp_path))
    bench.wait(lambda: learner.saves, "the second request", learner)
    assert learner.saves == [1]
    confirmed = tmp_path / "actor_best_confirmed.json"
    bench.wait(confirmed.exists, "the note of it")
    bench.wait(lambda: learner.metrics.get("actor/best_kept") == 1, "the metric")


def test_records_spill_to_the_run_directory_and_reach_a_learner_that_comes_back(bench, tmp_path):
    learner = bench.learner(durable=False)
    bench.sim(realtime=True)
    bench.actor(
        run_dir=str(tmp_path),
        lockstep=False,
        job__max_env_steps=40,
        task__control_period=0.02,
        robot__state_age=5.0,
        sender__memory_bytes=30_000,
    )
    bench.wait(lambda: learner.metrics.get("actor/spilled_mb", 0) > 0, "the spill", learner)
    assert list((tmp_path / "spill").glob("actor-*.spill"))
    bench.wait(lambda: learner.said("the learner to store"), "the actor to wait", learner)
    assert (tmp_path / "result.json").exists()
    learner.durable = True
    bench.wait_phase(learner, "done")
    bench.wait(lambda: learner.metrics.get("actor/spilled_mb") == 0, "the spill to be empty")
    assert [entry.seq for entry in learner.records] == list(range(len(learner.records)))
    assert list((tmp_path / "spill").iterdir()) == []


def test_what_is_not_stored_when_the_actor_is_stopped_is_said(bench, monkeypatch):
    learner = bench.learner(durable=False)
    bench.sim()
    actor = bench.actor()
    bench.wait(lambda: learner.said("the learner to store"), "the actor to wait", learner)
    said: list[str] = []
    monkeypatch.setattr(actor.get_logger(), "warning", lambda text, **_: said.append(text))
    assert actor.stop(bench.spin)
    assert f"{len(learner.records)} records are dropped" in said[-1]
    assert "0 of them have not arrived" in said[-1]


def test_an_arm_without_room_for_records_is_held_and_says_why(bench):
    learner = bench.learner(durable=False)
    sim = bench.sim()
    bench.actor(job__max_env_steps=10_000, sender__memory_bytes=30_000)
    bench.wait(lambda: learner.said("no room for 1 more"), "the actor to say why", learner)
    assert "MB in memory; there is no directory" in learner.statuses[-1].waiting_for
    count = len(sim.commands)
    learner.durable = True
    bench.wait(lambda: len(sim.commands) > count, "the actor to go on")


def test_an_idle_actor_is_heard_of(bench):
    learner = bench.learner()
    bench.sim()
    bench.actor(sender__keep_alive_period=0.1)
    bench.wait_phase(learner, "done")
    count = learner.duplicates
    bench.wait(lambda: learner.duplicates > count + 2, "its newest record, again")


def test_case_06_a_new_actor_of_a_killed_one_is_a_new_session(bench, start, tmp_path):
    learner = bench.learner()
    bench.sim()
    spill = tmp_path / "spill" / "actor-1-0.spill"
    options = {
        "run_dir": tmp_path,
        "job__max_env_steps": 10**6,
        "task__episode_steps": 1000,
        "task__start_height": 0.2,
    }
    process = start(**options)
    bench.wait(lambda: len(learner.records) > 20, "records", learner)
    process.send_signal(signal.SIGKILL)
    process.wait()
    spill.parent.mkdir(exist_ok=True)
    spill.touch()
    before = len(learner.records)
    start(**options)
    bench.wait(lambda: len(learner.sessions) == 2, "the new session")
    bench.wait(lambda: len(learner.records) > before + 20, "its records", learner)
    for entries in learner.sessions.values():
        assert [entry.seq for entry in entries] == list(range(len(entries)))
    first = learner.records[before]
    assert (first.seq, first.step, first.episode) == (0, 0, 0)
    assert not spill.exists()


def test_case_06_a_second_actor_of_the_same_directory_is_refused(bench, tmp_path):
    bench.actor(run_dir=str(tmp_path))
    with pytest.raises(AlreadyRunning, match="actor 'actor' is running already"):
        bench.actor(run_dir=str(tmp_path))


def test_case_06_the_second_of_two_actors_of_one_name_leaves(bench):
    """On two machines no lock helps; the learner's answers tell."""
    learner = bench.learner()
    bench.sim(realtime=True)
    options = {"job__max_env_steps": 10**6, "lockstep": False, "robot__state_age": 5.0}
    options |= {"task__control_period": 0.02, "task__episode_steps": 1000}
    bench.actor(**options)
    bench.wait(lambda: len(learner.records) > 5, "the first actor's records", learner)
    bench.actor(**options)
    bench.wait(lambda: "failed" in [s.phase for s in learner.statuses], "the second to leave")
    (failed,) = (status for status in learner.statuses if status.phase == "failed")
    assert "give this one another actor_id" in failed.detail
    first, second = learner.sessions.values()
    for entries in (first, second):
        assert [entry.seq for entry in entries] == list(range(len(entries)))
    count = len(first)
    bench.wait(lambda: len(first) > count + 5, "the first to go on")


def test_spilled_entries_are_what_they_were():
    record = Record(
        b"s" * 16, 3, 1, 2, {"a": np.ones(2, np.float32)}, np.zeros(6, np.float32), 0.5, True
    )
    relabel = Relabel(b"s" * 16, 9, 3, 4, 1.0, True)
    assert SPILL_CODEC.decode(SPILL_CODEC.encode(relabel)) == relabel
    copy = SPILL_CODEC.decode(SPILL_CODEC.encode(record))
    assert (copy.seq, copy.reward, copy.terminated) == (3, 0.5, True)
    np.testing.assert_array_equal(copy.observation["a"], record.observation["a"])
