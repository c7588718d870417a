"""What the learner keeps when it is killed, started twice, or out of disk space."""

from __future__ import annotations

import shutil
import signal

import pytest
from actor_probe import SMALL, ActorProbe
from rclpy.node import Node

from serl_controllers.ros_qos import STATUS, TRANSITIONS
from serl_interfaces.msg import NodeStatus
from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.srv import SaveCheckpoint
from serl_learner.learner_node import LearnerNode
from serl_learner.ros_log import read_episode
from serl_learner.ros_records import relabel_to_msg
from serl_learner.types import Relabel, Source


@pytest.fixture
def start_learner(start, directories):
    """Starts the learner as a process over the same directories."""

    def start_learner(**fields):
        parameters = SMALL | directories | fields
        return start(**{name.replace(".", "__"): value for name, value in parameters.items()})

    return start_learner


@pytest.fixture
def statuses(bench):
    """All that any node says about itself."""
    heard = []
    bench.add(Node, "listener").create_subscription(NodeStatus, "status", heard.append, STATUS)
    return heard


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def logged(tmp_path):
    """All episodes of the log, the oldest first."""
    return [read_episode(path) for path in sorted((tmp_path / "log").glob("*.mcap"))]


def test_case07_case09_killed_in_episode_4_nothing_acked_is_lost(
    start_learner, probe, bench, tmp_path
):
    process = start_learner(checkpoint_every_s=0.05)
    probe.wait_for_learner()
    for _ in range(3):
        probe.play()
    done = probe.wait_for_ack(lambda a: a.updates == 4 * (15 - 4), "all updates that are due")
    version = bench.wait(lambda: probe.params[-1].version >= 5 and probe.params[-1].version, "5")
    fourth = probe.episode()
    probe.publish(fourth[:4])
    probe.wait_for_ack(lambda a: a.received_seq == 22, "a part of episode 4")
    kill(process)
    assert [len(e.records) for e in logged(tmp_path)] == [6, 6, 6]
    probe.acks.clear()
    probe.params.clear()

    start_learner()
    ack = probe.wait_for_ack(lambda a: bytes(a.session) == probe.session, "the second process")
    assert (ack.received_seq, ack.next_seq) == (18, 18)
    assert ack.updates <= done.updates
    probe.publish(fourth)
    probe.wait_for_ack(lambda a: a.next_seq == 24 and a.updates == 4 * (20 - 4), "the rest")
    newest = bench.wait(lambda: probe.params and probe.params[-1], "parameters")
    assert newest.version > version or newest.learner_step < done.updates
    episodes = logged(tmp_path)
    assert [e.complete for e in episodes] == [True] * 4
    assert [r.seq for e in episodes for r in e.records] == list(range(24))


@pytest.mark.slow
def test_case07_killed_while_it_saves_all_the_time(start_learner, probe):
    """Whatever moment the kill hits: the next process goes on and does what is due."""
    total = 0
    for _ in range(3):
        process = start_learner(checkpoint_every_s=0.001)
        probe.acks.clear()
        probe.wait_for_learner()
        probe.wait_for_ack(lambda a: a.received_seq == probe.seq, "what is acked already")
        for _ in range(2):
            probe.play()
        total += 10
        due = 4 * (total - 4)
        probe.wait_for_ack(lambda a, n=due: a.updates == n, "all updates that are due")
        kill(process)


def test_a_late_verdict_is_logged_and_acked(learner, probe, bench, tmp_path):
    publisher = probe.create_publisher(RelabelMessage, "transitions/relabel", TRANSITIONS)
    probe.wait_for_learner()
    probe.play()
    bench.wait(publisher.get_subscription_count, "the learner's subscription")
    verdict = Relabel(probe.session, 6, 4, 4, 1.0, True)
    publisher.publish(relabel_to_msg(verdict))
    probe.seq += 1
    probe.wait_for_ack(lambda a: a.next_seq == 7, "the verdict")
    assert logged(tmp_path)[-1].entries == (verdict,)
    bad = relabel_to_msg(Relabel(probe.session, 7, 4, 4, float("nan"), True))
    publisher.publish(bad)
    probe.seq += 1
    probe.wait_for_status(lambda s: "relabel 7" in s.detail, "the refusal")
    assert probe.play().next_seq == 14
    assert logged(tmp_path)[-1].refused == (7,)


def test_a_second_learner_is_refused(learner, start_learner):
    process = start_learner()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "is written to by another learner" in errors
    assert "Traceback" not in errors


def test_the_last_status_of_one_that_fails_says_why(
    start_learner, statuses, probe, bench, tmp_path
):
    process = start_learner()
    probe.wait_for_learner()
    bench.wait(lambda: any(s.node == "learner" for s in statuses), "a first status")
    shutil.rmtree(tmp_path / "log")
    (tmp_path / "log").write_text("no directory any more")
    probe.publish(probe.episode())
    failed = bench.wait(lambda: next((s for s in statuses if s.phase == "failed"), None), "it")
    assert str(tmp_path / "log") in failed.detail
    assert process.wait(timeout=60) == 1


def test_without_disk_space_nothing_is_acked_and_the_status_says_so(
    bench, probe, directories, tmp_path
):
    learner = bench.add(LearnerNode, parameters=SMALL | directories | {"min_free_bytes": 2**60})
    probe.wait_for_learner()
    records = probe.episode()
    probe.publish(records)
    ack = probe.wait_for_ack(lambda a: a.received_seq == 6, "the records")
    assert ack.next_seq == 0
    status = probe.wait_for_status(lambda s: "disk space" in s.waiting_for, "the reason")
    assert f"{tmp_path / 'log'} has " in status.waiting_for
    assert "needs 1099511627776.0 MB" in status.waiting_for
    answer = probe.call(probe.save, SaveCheckpoint.Request())
    assert (answer.success, "disk space" in answer.message) == (False, True)
    bench.remove(learner)
    bench.add(LearnerNode, parameters=SMALL | directories)
    probe.acks.clear()
    probe.wait_for_learner()
    probe.publish(records)
    probe.wait_for_ack(lambda a: a.next_seq == 6, "the episode")


def test_a_learner_that_only_serves_takes_up_a_running_session(learner, probe, bench, directories):
    probe.wait_for_learner()
    for _ in range(2):
        probe.play()
    assert probe.call(probe.save, SaveCheckpoint.Request(tag="best")).success
    bench.remove(learner)
    probe.acks.clear()
    bench.add(LearnerNode, parameters=SMALL | {"serve_checkpoint": directories["checkpoint_dir"]})
    probe.wait_for_learner()
    records = probe.episode(source=Source.EVAL)
    probe.publish(records)
    ack = probe.wait_for_ack(lambda a: a.next_seq == 18, "the episode")
    assert ack.received_seq == 18
    own = [a for a in probe.acks if bytes(a.session) == probe.session]
    assert min(a.received_seq for a in own) >= 12


def test_case06_a_new_actor_closes_the_episode_of_the_one_that_died(
    learner, probe, bench, tmp_path
):
    probe.wait_for_learner()
    probe.publish(probe.episode()[:3])
    probe.wait_for_ack(lambda a: a.received_seq == 3, "the records")
    bench.remove(probe)
    second = bench.add(ActorProbe, bench, session=b"another session.")
    second.wait_for_learner()
    assert second.play().next_seq == 6
    old, new = logged(tmp_path)
    assert (len(old.records), old.complete) == (3, False)
    assert (len(new.records), new.complete) == (6, True)
