"""What nodes publish on `metrics` is in TensorBoard's files, at its steps and stamps."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.node import Node
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import METRICS, STATUS
from serl_interfaces.msg import Metrics, NodeStatus
from serl_learner.metrics_writer_node import MetricsWriterNode


class Publisher(Node):
    """In place of all nodes of a run."""

    def __init__(self, **kwargs):
        super().__init__("publisher", **kwargs)
        self.metrics = self.create_publisher(Metrics, "metrics", METRICS)
        self.statuses = {}
        self.create_subscription(NodeStatus, "status", self._on_status, STATUS)

    def _on_status(self, message):
        self.statuses[message.node] = message

    def say(self, node, step, sec, **values):
        message = Metrics(node=node, step=step)
        message.header.stamp.sec = sec
        message.names, message.values = list(values), [float(v) for v in values.values()]
        self.metrics.publish(message)

    @property
    def heard(self):
        """Whether the writer listens."""
        return self.metrics.get_subscription_count() == 1

    @property
    def status(self):
        return self.statuses.get("metrics_writer", NodeStatus())


def scalars(directory, node, tag):
    if not (directory / node).exists():
        return []
    accumulator = EventAccumulator(str(directory / node))
    accumulator.Reload()
    if tag not in accumulator.Tags()["scalars"]:
        return []
    return [(event.step, event.wall_time, event.value) for event in accumulator.Scalars(tag)]


def test_metrics_of_every_node_are_written(bench, tmp_path):
    publisher = bench.add(Publisher)
    bench.add(MetricsWriterNode, parameters={"directory": str(tmp_path)})
    bench.wait(lambda: publisher.heard, "the writer")
    bench.wait(lambda: publisher.status.waiting_for == "messages on metrics", "its status")
    publisher.say("actor", 12, 1_700_000_000, episodes=3)
    publisher.say("learner", 96, 1_700_000_001, q=-1.5)
    found = bench.wait(lambda: scalars(tmp_path, "learner", "q"), "the event file")
    assert found == [(96, 1_700_000_001.0, -1.5)]
    assert scalars(tmp_path, "actor", "episodes") == [(12, 1_700_000_000.0, 3.0)]
    bench.wait(lambda: publisher.status.waiting_for == "", "its status")


def test_bad_messages_are_refused_and_said(bench, tmp_path):
    publisher = bench.add(Publisher)
    bench.add(MetricsWriterNode, parameters={"directory": str(tmp_path / "here")})
    bench.wait(lambda: publisher.heard, "the writer")
    publisher.say("../up", 1, 1, x=1)
    bench.wait(lambda: "'../up'" in publisher.status.detail, "the refusal")
    publisher.say("actor", 1, 1, x=1)
    bench.wait(lambda: scalars(tmp_path / "here", "actor", "x"), "the next message")
    assert not (tmp_path / "up").exists()


def test_trouble_with_the_disk_is_said_until_it_is_over(bench, tmp_path):
    publisher = bench.add(Publisher)
    directory = tmp_path / "tensorboard"
    directory.write_text("in the way")
    bench.add(MetricsWriterNode, parameters={"directory": str(directory)})
    bench.wait(lambda: publisher.heard, "the writer")
    publisher.say("actor", 1, 1, x=1)
    bench.wait(lambda: publisher.status.phase == "failing", "the trouble")
    assert publisher.status.detail == "1 messages lost"
    directory.unlink()
    publisher.say("actor", 2, 2, x=2)
    bench.wait(lambda: publisher.status.phase == "writing", "the end of it")
    assert scalars(directory, "actor", "x") == [(2, 2.0, 2.0)]


def test_without_a_directory_there_is_no_node(domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    with pytest.raises(ParameterError, match="directory is empty"):
        MetricsWriterNode(context=context)
    rclpy.shutdown(context=context)
