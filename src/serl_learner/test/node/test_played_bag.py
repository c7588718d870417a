"""`ros2 bag play` of a recorded bag into a running learner: no handshake, any part of a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from actor_probe import SMALL
from mcap.writer import Writer
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from serl_interfaces.msg import Transition
from serl_learner.data.bag_file import RawBag, read_messages
from serl_learner.learner_node import LearnerNode
from serl_learner.ros_log import read_episode, schema_text
from serl_learner.ros_records import record_to_msg
from serl_learner.types import Source

KIND = "serl_interfaces/msg/Transition"
PLAYER = QoSProfile(depth=0, history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
"""What rosbag2's player offers where a bag says nothing else."""
OTHER = bytes(range(16, 32))


def write_bag(path: Path, records) -> Path:
    """As `ros2 bag record` does."""
    with open(path, "wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2")
        schema = writer.register_schema(KIND, "ros2msg", schema_text(KIND))
        channel = writer.register_channel("/transitions", "cdr", schema)
        for record in records:
            data = serialize_message(record_to_msg(record))
            writer.add_message(channel, record.stamp_ns, data, record.stamp_ns)
        writer.finish()
    return path


def play(bench, path: Path) -> None:
    """Publishes the bytes of a bag, as the player does: nothing is asked, nothing sent again."""
    player = bench.add(Node, "rosbag2_player")
    publisher = player.create_publisher(Transition, "transitions", PLAYER)
    bench.wait(publisher.get_subscription_count, "the learner")
    for message in read_messages(RawBag(path), frozenset([KIND])):
        publisher.publish(message.data)


@pytest.fixture
def learner(bench, directories):
    """It waits a second for what an actor would send again."""
    return bench.add(LearnerNode, parameters=SMALL | directories | {"lease_s": 1.0})


@pytest.fixture
def recorded(bench, probe, tmp_path):
    """A bag of the middle of a session: two demonstrations and an episode of the policy."""
    probe.session, probe.seq, probe.episodes = OTHER, 40, 5
    demo = {"source": Source.DEMO, "success": True}
    records = [*probe.episode(**demo), *probe.episode(**demo), *probe.episode()]
    probe.session, probe.seq, probe.episodes = bytes(range(16)), 0, 0
    return write_bag(tmp_path / "bag.mcap", records)


def test_a_bag_that_is_played_feeds_a_running_learner(bench, learner, probe, recorded, directories):
    probe.wait_for_learner()
    play(bench, recorded)
    values = bench.wait(
        lambda: next((v for v in probe.metrics if v.get("online_steps") == 5), None), "its steps"
    )
    assert (values["demonstrations"], values["prior_transitions"]) == (2, 10)
    (log,) = Path(directories["log_dir"]).glob("*.mcap")
    demonstrations = sorted(Path(directories["demonstrations_dir"]).glob("*.mcap"))
    assert [read_episode(path).session for path in (log, *demonstrations)] == [OTHER] * 3
    assert read_episode(demonstrations[0]).unsent == 40


def test_a_living_actor_goes_on_beside_it(bench, learner, probe, recorded):
    probe.wait_for_learner()
    probe.play()
    play(bench, recorded)
    bench.wait(
        lambda: next((v for v in probe.metrics if v.get("online_steps") == 10), None), "both"
    )
    ack = probe.play()
    assert (bytes(ack.session), ack.next_seq, ack.demonstrations) == (probe.session, 12, 2)


def test_played_again_nothing_counts_twice(bench, learner, probe, recorded):
    probe.wait_for_learner()
    play(bench, recorded)
    bench.wait(lambda: any(v.get("online_steps") == 5 for v in probe.metrics), "its steps")
    play(bench, recorded)
    values = bench.wait(
        lambda: next((v for v in probe.metrics if v["duplicate_records"] >= 18), None), "duplicates"
    )
    assert (values["demonstrations"], values["online_steps"]) == (2, 5)
