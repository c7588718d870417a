"""The learner node beside a probe that plays the actor."""

from __future__ import annotations

import array
import signal

import numpy as np
import pytest
from actor_probe import SMALL, SPEC, ActorProbe
from rclpy.node import Node

from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import STATUS
from serl_interfaces.msg import NodeStatus
from serl_interfaces.srv import GetPolicyParams, SaveCheckpoint
from serl_learner.agents.config import SACConfig
from serl_learner.learner_node import LearnerNode
from serl_learner.params_codec import CorruptParams, decode, read_params
from serl_learner.policy import Policy
from serl_learner.ros_params import params_from_msg
from serl_learner.ros_records import record_to_msg
from serl_learner.types import Source


def test_case15_says_what_it_waits_for_and_goes_on_by_itself(bench, learner):
    statuses = []
    listener = bench.add(Node, "listener")
    listener.create_subscription(NodeStatus, "status", statuses.append, STATUS)
    waits = lambda: [s for s in statuses if "an actor" in s.waiting_for]  # noqa: E731
    bench.wait(lambda: len(waits()) >= 2, "being told twice")
    first, second = (s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in waits()[-2:])
    assert second - first < 5.0
    probe = bench.add(ActorProbe, bench)
    probe.wait_for_learner()
    assert probe.play().received_seq == 6
    bench.wait(lambda: statuses[-1].waiting_for == "", "the end of the wait")


def test_records_in_acks_and_parameters_out(probe, learner, bench):
    probe.wait_for_learner()
    assert probe.acks[-1].actor_id == ""
    for _ in range(4):
        ack = probe.play()
    ack = probe.wait_for_ack(lambda a: a.updates == 4 * (20 - 4), "all updates that are due")
    assert ack.training
    assert ack.credit == ack.received_seq + 16
    policy = Policy(SPEC, 2, SACConfig(hidden=(8,), critics=2))
    newest = bench.wait(lambda: probe.params[-1].version == 9 and probe.params[-1], "version 9")
    observation = {key: np.zeros(shape, dtype) for key, (shape, dtype) in SPEC.items()}
    params = decode(params_from_msg(newest), policy.template, policy.layout_hash)
    assert np.all(np.abs(policy.mode(params, observation)) <= 1.0)


def test_case14_ratio_is_measured_and_published(probe, learner, bench):
    probe.wait_for_learner()
    for _ in range(4):
        probe.play()
    probe.wait_for_ack(lambda a: a.updates == 4 * (20 - 4), "all updates that are due")
    probe.metrics.clear()
    values = bench.wait(lambda: probe.metrics and probe.metrics[-1], "metrics")
    assert (values["utd_ratio"], values["updates"], values["online_steps"]) == (4.0, 64.0, 20.0)
    assert {"critic_loss", "q", "temperature", "entropy", "updates_per_s"} <= values.keys()


def test_case11_malformed_records_are_refused_and_counted_and_the_learner_lives(
    probe, learner, bench
):
    probe.wait_for_learner()
    records = probe.episode()
    messages = [record_to_msg(record) for record in records]
    messages[1].observation.tensors[0].data = messages[1].observation.tensors[0].data[:-3]
    messages[2].reward = float("nan")
    messages[3].action[0] = 7.0
    nan = array.array("B", np.float32(np.nan).tobytes())
    messages[4].observation.tensors[1].data[:4] = nan
    for message in messages:
        probe.publisher.publish(message)
    probe.wait_for_ack(lambda a: a.next_seq == 6, "the episode despite its bad records")
    status = probe.wait_for_status(lambda s: s.detail.startswith("4 refused"), "the count")
    assert "'state/twist' holds nan: not finite" in status.detail
    assert probe.play().next_seq == 12
    bench.wait(lambda: probe.metrics and probe.metrics[-1]["rejected_records"] == 4, "metrics")


def test_record_of_another_layout_is_refused_with_the_key(probe, learner):
    probe.wait_for_learner()
    probe.play()
    records = probe.episode()
    for record in records:
        record.observation["state/speed"] = record.observation.pop("state/twist")
    probe.publish(records)
    status = probe.wait_for_status(lambda s: "refused" in s.detail, "the refusal")
    assert "'state/speed'" in status.detail


def test_duplicates_are_ignored_and_gaps_wait(probe, learner, bench):
    probe.wait_for_learner()
    records = probe.episode()
    probe.publish([*records[:3], *records[:3], *records[4:]])
    ack = probe.wait_for_ack(lambda a: a.received_seq == 3, "the records before the gap")
    assert ack.next_seq == 0
    probe.publish(records[3:])
    ack = probe.wait_for_ack(lambda a: a.next_seq == 6, "the episode")
    values = bench.wait(
        lambda: next((m for m in probe.metrics if m.get("online_steps") == 5), None), "metrics"
    )
    # The two after the gap had waited for their turn.
    assert (values["duplicate_records"], values["gaps"]) == (5, 2)


def test_services_give_and_keep_parameters(probe, learner, directories, tmp_path):
    probe.wait_for_learner()
    answer = probe.call(probe.save, SaveCheckpoint.Request(tag="best"))
    assert (answer.success, "no agent yet" in answer.message) == (False, True)
    assert not probe.call(probe.fetch, GetPolicyParams.Request()).available
    probe.play()
    answer = probe.call(probe.fetch, GetPolicyParams.Request(newer_than=0))
    assert answer.available
    newest = params_from_msg(answer.params)
    assert not probe.call(
        probe.fetch, GetPolicyParams.Request(newer_than=newest.version + 100)
    ).available
    answer = probe.call(
        probe.save, SaveCheckpoint.Request(tag="best", policy_version=newest.version)
    )
    assert answer.success, answer.message
    assert read_params(tmp_path / "checkpoints" / "best_policy.msgpack") == newest
    assert probe.call(probe.save, SaveCheckpoint.Request()).success


def test_demonstrations_are_kept_and_found_by_another_learner(probe, learner, bench, directories):
    probe.wait_for_learner()
    probe.play(source=Source.DEMO)
    assert probe.play(source=Source.DEMO, success=True).demonstrations == 1
    bench.remove(learner)
    bench.remove(probe)
    elsewhere = {"demonstrations_dir": directories["demonstrations_dir"]}
    bench.add(LearnerNode, parameters=SMALL | elsewhere)
    later = bench.add(ActorProbe, bench, session=b"another session.")
    later.wait_for_ack(lambda a: a.demonstrations == 1, "the demonstration")
    bench.wait(lambda: later.params, "parameters before any record")
    assert (later.params[-1].version, later.params[-1].learner_step) == (1, 0)


def test_best_policy_is_served_for_evaluation(probe, learner, bench, directories, tmp_path):
    probe.wait_for_learner()
    probe.play()
    assert probe.call(probe.save, SaveCheckpoint.Request(tag="best")).success
    bench.remove(learner)
    bench.remove(probe)
    bench.add(LearnerNode, parameters=SMALL | {"serve_checkpoint": directories["checkpoint_dir"]})
    later = bench.add(ActorProbe, bench, session=b"another session.")
    message = bench.wait(lambda: later.params and later.params[-1], "the served policy")
    served = read_params(tmp_path / "checkpoints" / "best_policy.msgpack")
    assert params_from_msg(message) == served
    later.wait_for_learner()
    later.play(source=Source.EVAL)
    later.wait_for_status(lambda s: s.phase == "serving", "the phase")


def test_wrong_parameters_are_refused_by_name(bench, tmp_path):
    with pytest.raises(ParameterError, match="utd_ratoi"):
        bench.add(LearnerNode, parameters={"utd_ratoi": 4})
    with pytest.raises(ParameterError, match="discount 1.5"):
        bench.add(LearnerNode, parameters={"agent.discount": 1.5})
    (tmp_path / "best_policy.msgpack").write_bytes(b"nonsense")
    with pytest.raises(CorruptParams, match="best_policy.msgpack"):
        bench.add(LearnerNode, parameters={"serve_checkpoint": str(tmp_path)})


def test_stops_cleanly_and_a_second_process_goes_on(start, bench, directories):
    parameters = {name.replace(".", "__"): value for name, value in (SMALL | directories).items()}
    process = start(**parameters)
    probe = bench.add(ActorProbe, bench)
    probe.wait_for_learner()
    for _ in range(3):
        probe.play()
    probe.wait_for_ack(lambda a: a.updates == 4 * (15 - 4), "all updates that are due")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    probe.acks.clear()
    start(**parameters)
    ack = probe.wait_for_ack(lambda a: bytes(a.session) == probe.session, "the second process")
    assert (ack.next_seq, ack.updates) == (18, 44)
    assert probe.play().next_seq == 24


def test_damaged_demonstration_is_one_line_and_exit_code_one(start, directories, tmp_path):
    (tmp_path / "demos").mkdir()
    (tmp_path / "demos" / "x.mcap").write_bytes(b"nonsense")
    process = start(**directories)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "x.mcap" in errors
    assert "Traceback" not in errors
